//===- Production.cpp - the kernels' own forms of the functions -----------===//
#include "tests/functions/Production.h"

#include "tests/kernels/instruction_sets.h"

namespace writ::test {

#define X(isa) std::span<const Production> productionOf_##isa();
#include "instruction_sets.inc"
#undef X

std::vector<Production> productionForms(const std::string &function) {
  std::vector<Production> forms;
  const auto add = [&](const char *isa, std::span<const Production> table) {
    for (const Production &production : table)
      if (machineHas(isaOf(isa)) && function == production.function)
        forms.push_back(production);
  };
#define X(isa) add(#isa, productionOf_##isa());
#include "instruction_sets.inc"
#undef X
  return forms;
}

} // namespace writ::test
