// A RunProbeRequest as command lines of sextant-probe.
#ifndef SEXTANT_SERVER_PROBE_PROBE_SPEC_H_
#define SEXTANT_SERVER_PROBE_PROBE_SPEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/probe/probe_schedule.h"
#include "server/store/calibration_snapshot.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::server {

// One run of sextant-probe, which measures one device.
struct DeviceProbe {
  std::string uuid;
  std::vector<std::string> arguments;  // --parent_pid left out
};

struct ProbeSpec {
  std::vector<DeviceProbe> probes;  // at least one, in the order of their results
  bool with_shapes = false;         // of the caller's: the results are not kept
  ProbeBudget budget;               // of each
};

// `host` holds this host's devices, at least one.
//
// Errors: kInvalidArgument (FIELD_INVALID) with all violations; kNotFound (DEVICE_UNKNOWN) where
// devices that are not known are the only fault.
absl::StatusOr<ProbeSpec> ProbeSpecFrom(const v1::RunProbeRequest& request,
                                        const CalibrationSnapshot& host);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_PROBE_SPEC_H_
