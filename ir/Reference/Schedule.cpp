//===- Schedule.cpp - what a word leaves to its surroundings --------------===//
#include "ir/Reference/Schedule.h"
#include "ir/Reference/Scalar.h"

#include <cmath>

namespace writ::reference {
namespace {

/// FNV-1a: any function of all the bytes would do.
uint64_t mixed(uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return (hash ^ 0xff) * 0x100000001b3; // "ab", "c" is not "a", "bc"
}
uint64_t mixed(uint64_t hash, uint64_t number) {
  return mixed(hash, std::to_string(number));
}

uint64_t ofMachine(const Call &call, std::string_view what) {
  uint64_t hash = mixed(0xcbf29ce484222325, what);
  for (const std::string &part : {call.schedule.isa, call.schedule.device, call.schedule.compiler})
    hash = mixed(hash, part);
  return nextNumber(hash);
}

} // namespace

uint64_t nextNumber(uint64_t &state) { // Steele, Lea, Flood 2014
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

uint64_t leftOpenToAll(const Call &call, std::string_view what) {
  uint64_t hash = mixed(ofMachine(call, what), call.schedule.run);
  hash = mixed(hash, static_cast<uint64_t>(call.schedule.workers));
  if (const auto rows = call.dimensions.find("rows"); rows != call.dimensions.end())
    hash = mixed(hash, static_cast<uint64_t>(rows->second));
  return nextNumber(hash);
}

float Flush::applied(float value) {
  return flushed(value);
}

Flush flushOf(const Call &call) {
  const auto exceptional = call.contract->find("exceptional");
  if (exceptional == call.contract->end() || exceptional->value("subnormal", "") != "flushed")
    return {};
  const uint64_t choice = ofMachine(call, "subnormal");
  return {(choice & 1) != 0, (choice & 2) != 0};
}

} // namespace writ::reference
