// One shape's multiplication on a GPU, timed.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "gpu_probe/cuda/gemm/gpu_matmul.h"
#include "gpu_probe/cuda/gemm/gpu_matmul_arena.h"
#include "gpu_probe/cuda/gpu_workload.h"

namespace sextant {

// A and C stay where they are, as a layer's input and output do; B's copies take turns, so that
// small weights come from memory, as a model's do. Workloads of one arena share C: what one writes
// is checked before the next is run.
class GpuMatmulWorkload : public GpuWorkload {
 public:
  struct Parts {
    SharedCublasLt cublaslt = {};  // first, so that it outlives the rest
    GpuRotation rotation = {};
    std::shared_ptr<GpuMatmulArena> arena = {};
    std::shared_ptr<const GpuMatmul> matmul = {};
    size_t choice = 0;                         // of the library's algorithms
    std::shared_ptr<bool> exact_checked = {};  // of all workloads of a type: whether one did
  };
  explicit GpuMatmulWorkload(Parts parts);

  void Poison() override;
  // The first time it also compares small whole numbers' product with a plain one, if no other of
  // the type did, and the result of a second run with the first's.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;
  int64_t turn() const override { return turn_; }
  void set_turn(int64_t turn) override { turn_ = turn; }
  int64_t operand_count() const override { return parts_.rotation.count; }

  GpuMatmulOperands Operands() const;
  absl::Status CheckRepeats();

  const Parts parts_;
  int64_t turn_ = 0;  // which copy of B was last used
  uint64_t check_seed_ = 0;
  bool checked_ = false;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_WORKLOAD_H_
