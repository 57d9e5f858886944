// Reasons why a GPU can't be measured, or failed: a word for programs and a sentence for people.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_FAULT_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_FAULT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant::probe {

// The words. docs/gpu_probe.md explains when each is used and what to do.
inline constexpr char kNoDriver[] = "no_driver";
inline constexpr char kDriverTooOld[] = "driver_too_old";
inline constexpr char kNoDevice[] = "no_device";
inline constexpr char kStubLibrary[] = "stub";
inline constexpr char kVersionMismatch[] = "mismatch";
inline constexpr char kNoCublasLt[] = "no_cublaslt";
inline constexpr char kBuiltWithoutCuda[] = "built_without_cuda";

// kNotFound with `sentence`, which includes advice, and the metadata "reason" = `word`.
absl::Status Absent(absl::string_view word, absl::string_view sentence);

// Absent() for a host with a running driver, of version `driver_version`, that can't be used.
absl::Status AbsentDespiteDriver(absl::string_view word, absl::string_view sentence,
                                 absl::string_view driver_version);

// True where `absent` is kNoDriver on a host without any sign of a driver: the usual case, not a
// fault.
bool IsNoDriver(const absl::Status& absent);

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

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_FAULT_H_
