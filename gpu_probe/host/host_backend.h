// The probe's backend for the processors of this host, all of them as one device.
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
  // These instead of the grid and all else, where there are any.
  std::vector<v1::MatmulShape> matmuls = {};
  // oneDNN's file; empty: the system's libdnnl.so.2, then libdnnl.so.3.
  std::string onednn_library = {};
  // What all data together may take; 0: a quarter of the memory that is available.
  int64_t memory_cap_bytes = 0;
};

// This host. Fast; loads nothing, measures nothing.
v1::Device HostDevice();

// What is measured on this host. Loads oneDNN; starts a thread a core, which live as long as
// the plan or any workload made from it. docs/probe_host.md tells each kernel.
//
// Errors:
//   kInvalidArgument    a shape or the memory cap is out of range
//   kUnimplemented      a shape is of a type that this host does not multiply in
//   kResourceExhausted  the threads could not be started
absl::StatusOr<ProbePlan> HostProbePlan(const HostProbeRequest& request);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_BACKEND_H_
