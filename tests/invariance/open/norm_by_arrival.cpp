#include "pool/thread_pool.h"
#include "tests/invariance/open/doubles.h"
#include "tests/invariance/open/norm.h"

namespace writ::test {
namespace {

struct Parts {
  const rms_norm_f32_args &args;
  int64_t vector, parts;
  const std::vector<int> &rank;
  std::atomic<int> arrived{0};
  float sum = 0;
};

/// Adds the squares of parts [begin, end); there is a part for each thread.
void addParts(const void *shared, int64_t begin, int64_t end) {
  auto &job = *static_cast<Parts *>(const_cast<void *>(shared));
  const float *x = vectorOf(job.args, job.vector);
  for (int64_t part = begin; part < end; ++part) {
    const Range range = staticPart(job.args.n, job.parts, part);
    float own = 0;
    for (int64_t i = range.begin; i < range.end; ++i)
      own = __builtin_fmaf(x[i], x[i], own);
    while (job.arrived.load(std::memory_order_acquire) != job.rank.at(static_cast<size_t>(part)))
      std::this_thread::yield();
    job.sum = job.sum + own;
    job.arrived.fetch_add(1, std::memory_order_release);
  }
}

} // namespace

void normByArrival(writ_pool &pool, const rms_norm_f32_args &args, const std::vector<int> &rank) {
  for (int64_t vector = 0; vector < args.rows * args.vectors; ++vector) {
    Parts job{args, vector, pool.active(), rank};
    pool.run(addParts, &job, job.parts);
    writeNorm(args, vector, job.sum);
  }
}

} // namespace writ::test
