// Backends, which measure one kind of device each; the choice of a device by a command line, and
// its measurement from the lock to the calibration.
#ifndef SEXTANT_GPU_PROBE_BACKEND_H_
#define SEXTANT_GPU_PROBE_BACKEND_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_probe/options.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// Called at the start of each step of making a plan, with its name, e.g. "libraries".
using PhaseSink = std::function<void(const std::string& phase)>;

struct Backend {
  std::string name;  // as --backend names it

  // Returns the devices of its kind on this host. Fast: loads no library of kernels, and uses no
  // device memory.
  //
  // Errors: kNotFound or kInternal saying why there is none that can be seen.
  std::function<absl::StatusOr<std::vector<v1::Device>>()> devices;

  // Returns the plan for options.device, which is one of them. `options` give the mode, the shapes
  // and the limits.
  //
  // Errors: kUnimplemented where the device can't do what is asked; kResourceExhausted where the
  // memory is too small.
  std::function<absl::StatusOr<ProbePlan>(const ProbeOptions& options, const PhaseSink& on_phase)>
      plan;

  // Returns why this program can't measure any of its devices, whatever the options; OK where it
  // can. --backend=auto then goes on to the next backend. Empty: it always can.
  std::function<absl::Status()> can_measure = {};

  // True where devices() failed with `absent` because the host has no such devices, as on most
  // hosts, and not because of a fault: --backend=auto then goes on to the next backend without a
  // note. Empty: never.
  std::function<bool(const absl::Status& absent)> is_plain_absence = {};

  // Returns the devices that may be measured, in the order of devices(), each with at least its
  // uuid and kind. Does not start their driver where that can be avoided. Errors: devices()'s.
  // Empty: devices() is used.
  std::function<absl::StatusOr<std::vector<v1::Device>>()> choices = {};
};

// The devices that --list shows.
struct ListedDevices {
  std::vector<v1::Device> devices;  // the first backend's come first; never empty
  std::vector<std::string> notes;   // why another backend's are missing, in full sentences
};

// Lists the devices of the backend `backend_name`; for "auto", those of all backends.
//
// Errors: kUnimplemented where this program has no such backend; the first backend's where none has
// a device.
absl::StatusOr<ListedDevices> ListDevices(const std::string& backend_name,
                                          absl::Span<const Backend> backends);

struct ChosenDevice {
  const Backend* backend = nullptr;
  v1::Device device;               // as Backend::choices() returns it
  std::vector<std::string> notes;  // on the choice, in full sentences, for the calibration
};

// Chooses options.device, or the first device that ListDevices() would show.
//
// Errors: ListDevices()'s; kNotFound where there is no such device, with the metadata "reason" of
// the backend that could not list its devices, if any.
absl::StatusOr<ChosenDevice> ChooseDevice(const ProbeOptions& options,
                                          absl::Span<const Backend> backends);

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

#endif  // SEXTANT_GPU_PROBE_BACKEND_H_
