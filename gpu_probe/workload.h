// One kernel on its own data: what a figure of the calibration is timed on.
#ifndef SEXTANT_GPU_PROBE_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_WORKLOAD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"

namespace sextant {

class Workload {
 public:
  virtual ~Workload() = default;

  // Fills the outputs with a value that no run leaves there, so that Check() finds every
  // element that a run did not write. Not timed.
  virtual void Poison() = 0;

  // Runs the kernel `repetition_count` times in a row. All work is done on return.
  //
  // Errors: the device's, after which nothing of it is to be trusted.
  virtual absl::Status Run(int64_t repetition_count) = 0;

  // What the last Run() took by the device's own clock, which leaves out what the host takes to
  // start work and to notice its end. Absent where the device has no clock, as a processor: the
  // caller's then counts.
  virtual absl::optional<double> DeviceSeconds() const { return absl::nullopt; }

  // Compares the outputs of the last run with an independent answer. Not timed.
  //
  // Errors: kDataLoss, saying what differed: the device or the kernel is not to be trusted; the
  // device's.
  virtual absl::Status Check() = 0;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_WORKLOAD_H_
