// sextant-probe: measures the devices of this host, and judges devices by their measurements.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "gpu_probe/backend.h"
#include "gpu_probe/cuda/cuda_backend.h"
#include "gpu_probe/health/run_check.h"
#include "gpu_probe/host/host_backend.h"
#include "gpu_probe/run_probe.h"

namespace sextant::probe {
namespace {

// The type of shapes that name none: bf16 where the processor has instructions for it.
v1::DataType DefaultDataType() {
  const v1::Device device = HostDevice();
  const auto& sets = device.instruction_sets();
  const bool has_bf16 = std::any_of(sets.begin(), sets.end(), [](const std::string& set) {
    return set == "avx512_bf16" || set == "amx_bf16";
  });
  return has_bf16 ? v1::DATA_TYPE_BF16 : v1::DATA_TYPE_FP32;
}

absl::StatusOr<ProbePlan> PlanOf(const ProbeOptions& options, const PhaseSink& /*on_phase*/) {
  HostProbeRequest request = {.mode = options.mode,
                              .matmuls = options.matmuls,
                              .onednn_library = options.onednn_library,
                              .memory_cap_bytes = options.memory_cap_bytes};
  for (v1::MatmulShape& shape : request.matmuls) {
    if (shape.data_type() == v1::DATA_TYPE_UNSPECIFIED) shape.set_data_type(DefaultDataType());
  }
  return HostProbePlan(request);
}

// All backends that this program is built with, in the order in which --backend=auto tries them.
std::vector<Backend> Backends() {
  return {CudaBackend(),
          {.name = "host",
           .devices = [] { return std::vector<v1::Device>{HostDevice()}; },
           .plan = PlanOf}};
}

}  // namespace
}  // namespace sextant::probe

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int exit_code = sextant::probe::AsksForCheck(args)
                            ? sextant::probe::RunCheck(args, sextant::probe::Backends())
                            : sextant::probe::RunProbe(args, sextant::probe::Backends());
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  // Not by return: libraries that were loaded by name may have waiting threads, which a return
  // would destroy the state of.
  std::_Exit(exit_code);
}
