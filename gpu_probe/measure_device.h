// A measurement from its device's lock to its calibration.
#ifndef SEXTANT_GPU_PROBE_MEASURE_DEVICE_H_
#define SEXTANT_GPU_PROBE_MEASURE_DEVICE_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/options.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// Measures the device that ChooseDevice() chooses. `show` receives the progress, and ends the run
// where it returns false. There is no watchdog: a kernel that hangs blocks the caller.
//
// Errors: ChooseDevice()'s; kAborted where another probe measures the device or, for a GPU, any
// other GPU of the host; kCancelled where `show` ended it; those of the backend's plan and of
// Measure().
absl::StatusOr<v1::Calibration> MeasureDevice(
    absl::Span<const Backend> backends, const ProbeOptions& options, Clock& clock,
    const std::function<bool(const v1::ProbeProgress&)>& show);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_MEASURE_DEVICE_H_
