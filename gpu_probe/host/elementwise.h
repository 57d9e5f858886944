// The elementwise ladder on a processor: multiply-adds on every element of an fp32 array, in place.
#ifndef SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_H_
#define SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/random_data.h"
#include "gpu_probe/host/simd.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// 1, 2, 4 and so on to 128 multiply-adds an element, on an array that exceeds all caches. Left out,
// with a note, where memory is too small.
std::vector<Point> ElementwisePoints(const SharedContext& context);

// The ends of the ladder, from which the ridge is computed.
inline constexpr int64_t kMinMultiplyAdds = 1;
inline constexpr int64_t kMaxMultiplyAdds = 128;

// x = a x + b, `step_count` times for each of `count` elements.
struct ElementwiseSpan {
  float* x = nullptr;
  int64_t count = 0;
  int64_t step_count = 0;
  float a = 0;
  float b = 0;
};

using ElementwiseKernel = void (*)(const ElementwiseSpan& span);

// The kernel for a level of this processor. AVX2 and AVX-512 fuse multiplication and addition; SSE2
// rounds twice.
ElementwiseKernel ElementwiseKernelOf(SimdLevel level);

// An fp32 array that starts as normal numbers, and the pattern that generated them.
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
  // A run processes one segment, and the next run the next one.
  int64_t segment_count = 1;
};

class ElementwiseWorkload : public Workload {
 public:
  ElementwiseWorkload(const ElementwiseRun& run, std::shared_ptr<ElementwiseArray> array,
                      SharedContext context);

  // Restores the initial numbers of the segment that is processed next, so that an element that no
  // pass changes is detected.
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

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_H_
