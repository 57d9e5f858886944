// What a report on the elements of an array means.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_ELEMENT_CHECK_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_ELEMENT_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/cuda/check_report.h"

namespace sextant {

// OK where none of `count` is wrong.
//
// Errors: the report's own; kDataLoss: "3 of 4096 elements are wrong, the first of them element 7",
// where `noun` is "element".
absl::Status AllRight(const absl::StatusOr<GpuCheckReport>& report, int64_t count,
                      absl::string_view noun);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_ELEMENT_CHECK_H_
