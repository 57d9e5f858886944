// What knows one kind of device.
#ifndef SEXTANT_GPU_PROBE_BACKEND_H_
#define SEXTANT_GPU_PROBE_BACKEND_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/options.h"
#include "gpu_probe/point.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// Is told of each step of making a plan as it begins, e.g. "libraries".
using PhaseSink = std::function<void(const std::string& phase)>;

struct Backend {
  std::string name;  // as --backend names it

  // The devices of its kind that are here. Fast: it loads no library of kernels, and uses no
  // memory of a device.
  //
  // Errors: kNotFound or kInternal saying why there is none that can be seen.
  std::function<absl::StatusOr<std::vector<v1::Device>>()> devices;

  // What is measured of options.device, which is one of them. `options` tell the mode, the shapes,
  // and what to keep to as well.
  //
  // Errors: kUnimplemented where the device can't do what is asked; kResourceExhausted where
  // the memory is too little.
  std::function<absl::StatusOr<ProbePlan>(const ProbeOptions& options, const PhaseSink& on_phase)>
      plan;

  // Why none of them could be measured by this program, whatever it is asked for: OK where they can
  // be. --backend=auto then goes on to the next backend. Empty: they always can be.
  std::function<absl::Status()> can_measure = {};

  // Whether devices() failed with `absent` as hosts without such devices do, rather than for a
  // fault of the host: --backend=auto then goes on to the next backend without a word. Empty:
  // never.
  std::function<bool(const absl::Status& absent)> is_plain_absence = {};

  // The devices that may be measured, as devices() orders them, each with its uuid and kind and
  // maybe no more: told without starting their driver, where that can be. Errors: devices()'s.
  // Empty: devices() tells.
  std::function<absl::StatusOr<std::vector<v1::Device>>()> choices = {};
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_BACKEND_H_
