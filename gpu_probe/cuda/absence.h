// Why a host has no GPU that can be measured, in a word for programs and a sentence for people.
#ifndef SEXTANT_GPU_PROBE_CUDA_ABSENCE_H_
#define SEXTANT_GPU_PROBE_CUDA_ABSENCE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant {

// The words. docs/gpu_probe.md says when each is given and what to do.
inline constexpr char kNoDriver[] = "no_driver";
inline constexpr char kDriverTooOld[] = "driver_too_old";
inline constexpr char kNoDevice[] = "no_device";
inline constexpr char kStubLibrary[] = "stub";
inline constexpr char kVersionMismatch[] = "mismatch";
inline constexpr char kNoCublasLt[] = "no_cublaslt";
inline constexpr char kBuiltWithoutCuda[] = "built_without_cuda";

// kNotFound with `sentence`, which says what to do as well, and the metadata "reason" = `word`.
absl::Status Absent(absl::string_view word, absl::string_view sentence);

// The same for a host whose driver runs, in version `driver_version`, though it can't be used.
absl::Status AbsentBesideDriver(absl::string_view word, absl::string_view sentence,
                                absl::string_view driver_version);

// Whether `absent` is kNoDriver of a host that shows no sign of a driver: as most hosts are, and
// no fault.
bool IsPlainlyAbsent(const absl::Status& absent);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_ABSENCE_H_
