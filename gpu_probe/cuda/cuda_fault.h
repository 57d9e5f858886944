// What an error code of CUDA means for a probe.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_FAULT_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_FAULT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant {

// OK for 0. Otherwise a status whose message names `call`, the code and what to do, and whose
// metadata "reason" is the word in brackets:
//   kNotFound           nothing to measure: 34 (stub), 35, 200, 209, 218 and 222 (driver_too_old),
//                       100, 101, 304 and 802 (no_device), 803 and 804 (mismatch)
//   kResourceExhausted  2 (memory)
//   kAborted            46 (mode): another process has the GPU to itself
//   kDataLoss           214 (ecc): what the GPU computed is lost
//   kInternal           700, 702, 710, 714 to 719 (sticky): every later call of this process fails
//                       as well, so it has to end; and all codes that are not listed (cuda)
absl::Status CudaStatus(int code, absl::string_view call);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_FAULT_H_
