// The probe's backend for the processors of this host, as one device.
#ifndef SEXTANT_GPU_PROBE_HOST_HOST_BACKEND_H_
#define SEXTANT_GPU_PROBE_HOST_HOST_BACKEND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

struct HostProbeRequest {
  v1::ProbeMode mode = v1::PROBE_MODE_STANDARD;
  // Measured instead of the grid and everything else, where not empty.
  std::vector<v1::MatmulShape> matmuls = {};
  // oneDNN's file; empty: the system's libdnnl.so.2, then libdnnl.so.3.
  std::string onednn_library = {};
  // The most bytes of all data together; 0: a quarter of the available memory.
  int64_t memory_cap_bytes = 0;
};

// This host as a device. Fast; loads nothing, measures nothing.
v1::Device HostDevice();

// The plan of this host's measurements. Loads oneDNN; starts one thread a core, which live as long
// as the plan or any workload made from it. docs/probe.md, "Processors", describes each kernel.
//
// Errors:
//   kInvalidArgument    a shape or the memory cap is out of range
//   kUnimplemented      a shape is of a type that this host does not multiply in
//   kResourceExhausted  the threads could not be started
absl::StatusOr<ProbePlan> HostProbePlan(const HostProbeRequest& request);

// Limits of the best multiplication of a type's grid, as a share of the registers' rate. Below the
// first, a note is added: a library that does not know the processor silently uses slow kernels.
// Above the second, one of the two figures is wrong, or the clock changed between them.
inline constexpr double kLowRegisterRatio = 0.5;
inline constexpr double kHighRegisterRatio = 1.05;

// Fills in register ratios, the ridge and the speed-up of fusion, from measured figures; removes a
// chain of which only one half was measured. Adds notes on figures that contradict each other.
void SummariseHost(v1::Calibration* calibration);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_BACKEND_H_
