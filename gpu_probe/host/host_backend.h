// The processors of this host as a device to measure.
#ifndef SEXTANT_GPU_PROBE_HOST_HOST_BACKEND_H_
#define SEXTANT_GPU_PROBE_HOST_HOST_BACKEND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/point.h"
#include "sextant/v1/device.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

struct HostProbeRequest {
  v1::ProbeMode mode = v1::PROBE_MODE_STANDARD;
  std::vector<v1::MatmulShape> matmuls = {};
  std::string onednn_library = {};
  int64_t memory_cap_bytes = 0;  // 0: a quarter of what is available
};

// Fast, loads nothing.
v1::Device HostDevice();

absl::StatusOr<ProbePlan> HostProbePlan(const HostProbeRequest& request);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_BACKEND_H_
