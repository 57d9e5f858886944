// The elementwise ladder's pass, timed.
#ifndef SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_WORKLOAD_H_

#include <cstdint>
#include <memory>

#include "gpu_probe/host/elementwise_kernels.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/repeating_pattern.h"
#include "gpu_probe/workload.h"

namespace sextant {

// An fp32 array that starts as normal numbers, and the pattern that they came from.
struct ElementwiseArray {
  Buffer x;
  int64_t count = 0;
  RepeatingPattern<float> pattern = NormalPattern();

  // Errors: kResourceExhausted.
  static absl::StatusOr<std::shared_ptr<ElementwiseArray>> Create(int64_t count,
                                                                  const HostContext& context);
};

struct ElementwiseRun {
  ElementwiseKernel kernel = nullptr;
  int64_t step_count = 1;
  // A run passes over one segment, and the next run over the next.
  int64_t segment_count = 1;
};

class ElementwiseWorkload : public Workload {
 public:
  ElementwiseWorkload(const ElementwiseRun& run, std::shared_ptr<ElementwiseArray> array,
                      SharedContext context);

  // Puts the numbers that the array began with into the segment that is passed over next: an
  // element that no pass changes is then found.
  void Poison() override;
  absl::Status Run(int64_t repetition_count) override;
  // Compares that segment with x_n = f + (x_0 - f) a^n, f = b / (1 - a), in double.
  absl::Status Check() override;

 private:
  Part PartOfThread(int index, int64_t segment) const;
  int64_t FirstWrong(const Part& part) const;

  const SharedContext context_;  // first, so that it outlives the array
  const ElementwiseRun run_;
  const std::shared_ptr<ElementwiseArray> array_;
  int64_t next_segment_ = 0;
  int64_t poisoned_segment_ = 0;
  int64_t runs_since_poison_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_WORKLOAD_H_
