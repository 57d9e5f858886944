// The probe's own fp32 multiplication, for hosts without oneDNN: blocked and packed after
// Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3),
// 2008. Each thread computes a rectangle of C by itself.
#ifndef SEXTANT_GPU_PROBE_HOST_BUILTIN_MATMUL_H_
#define SEXTANT_GPU_PROBE_HOST_BUILTIN_MATMUL_H_

#include <memory>
#include <string>

#include "gpu_probe/host/builtin_micro_kernels.h"
#include "gpu_probe/host/matmul_engine.h"
#include "gpu_probe/host/memory_budget.h"
#include "gpu_probe/host/thread_team.h"

namespace sextant {

class BuiltinEngine : public MatmulEngine {
 public:
  // `team` and `memory` must outlive the engine. `level`: one that this processor has.
  BuiltinEngine(SimdLevel level, ThreadTeam* team, MemoryBudget* memory);

  const std::string& name() const override { return name_; }

  // Errors: kUnimplemented for other types than FP32; kResourceExhausted: no memory to pack in.
  absl::StatusOr<std::unique_ptr<PreparedMatmul>> Prepare(const v1::MatmulShape& shape) override;

 private:
  const std::string name_ = "builtin";
  const MicroKernel kernel_;
  ThreadTeam* const team_;
  MemoryBudget* const memory_;
  // Room to pack in, for all that was prepared: one multiplication runs at a time.
  std::weak_ptr<const Buffer> packed_;
};

// How many threads share C's rows and its columns: rows * columns = thread_count, so chosen
// that each thread packs as little of A and B as can be.
struct ThreadGrid {
  int row_count = 1;
  int column_count = 1;
};
ThreadGrid GridOf(int64_t m, int64_t n, int thread_count);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_BUILTIN_MATMUL_H_
