// One shape's multiplication, timed.
#ifndef SEXTANT_GPU_PROBE_HOST_MATMUL_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_HOST_MATMUL_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/matmul_arena.h"
#include "gpu_probe/workload.h"

namespace sextant {

// A and C stay where they are, as a layer's input and output do; B's copies take turns, so
// that small weights come from memory, as a model's do. Workloads of one arena share C: what
// one writes is checked before the next is run.
class MatmulWorkload : public Workload {
 public:
  struct Parts {
    SharedContext context = {};  // first, so that it outlives the rest
    v1::MatmulShape shape = {};
    Rotation rotation = {};
    std::shared_ptr<MatmulArena> arena = {};
    std::unique_ptr<PreparedMatmul> matmul = {};
  };
  explicit MatmulWorkload(Parts parts) : parts_(std::move(parts)) {}

  void Poison() override;
  // Errors: kInternal where the library reported a failure.
  absl::Status Run(int64_t repetition_count) override;
  absl::Status Check() override;

 private:
  MatmulOperands Operands() const;

  const Parts parts_;
  int64_t turn_ = 0;  // which copy of B was last used
  uint64_t check_seed_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_MATMUL_WORKLOAD_H_
