#include "gpu_probe/backends.h"

#include <algorithm>

#include "gpu_probe/cuda/cuda_backend.h"
#include "gpu_probe/host/host_backend.h"

namespace sextant {
namespace {

// The type of shapes that name none: bf16 where the processor multiplies in it.
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

}  // namespace

std::vector<Backend> Backends() {
  return {CudaBackend(),
          {.name = "host",
           .devices = [] { return std::vector<v1::Device>{HostDevice()}; },
           .plan = PlanOf}};
}

}  // namespace sextant
