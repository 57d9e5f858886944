// RunProbeRequest as what sextant-probe is asked to do.
#ifndef SEXTANT_SERVER_CONVERT_PROBE_SPEC_H_
#define SEXTANT_SERVER_CONVERT_PROBE_SPEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calibration_snapshot.h"
#include "server/probe_budget.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

struct ProbeSpec {
  // UUIDs of the devices that are to be measured, in the order of their results.
  std::vector<std::string> device_uuids;
  bool with_shapes = false;  // of the caller's: the result is not kept
  ProbeBudget budget;
  std::vector<std::string> arguments;  // for sextant-probe; --parent_pid left out
};

// `host` holds this host's devices.
//
// Errors: kInvalidArgument (FIELD_INVALID) with all violations; kNotFound (DEVICE_UNKNOWN) where
// devices that are not known are the only fault.
absl::StatusOr<ProbeSpec> ProbeSpecFrom(const v1::RunProbeRequest& request,
                                        const CalibrationSnapshot& host);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_PROBE_SPEC_H_
