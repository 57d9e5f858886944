// A measurement from its device's lock to its calibration.
#ifndef SEXTANT_GPU_PROBE_MEASURE_DEVICE_H_
#define SEXTANT_GPU_PROBE_MEASURE_DEVICE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/options.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// The backend of that name, or the first for "auto".
//
// Errors: kUnimplemented where this program has none.
absl::StatusOr<const Backend*> BackendNamed(const std::string& name,
                                            absl::Span<const Backend> backends);

// --budget, or the mode's default.
double BudgetSecondsOf(const ProbeOptions& options);

// Measures options.device, or the first device of `backend`. `show` is told how far it is, and ends
// the run where it returns false. Without a watchdog: a kernel that hangs holds the caller.
//
// Errors: kNotFound where there is no such device; kAborted where another probe measures it;
// kCancelled where `show` ended it; those of the backend's devices and plan, and of Measure().
absl::StatusOr<v1::Calibration> MeasureDevice(
    const Backend& backend, const ProbeOptions& options, Clock& clock,
    const std::function<bool(const v1::ProbeProgress&)>& show);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_MEASURE_DEVICE_H_
