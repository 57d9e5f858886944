#include "gpu_probe/backends.h"

#include "gpu_probe/host/host_backend.h"

namespace sextant {

std::vector<Backend> Backends() {
  return {{.name = "host",
           .devices = [] { return std::vector<v1::Device>{HostDevice()}; },
           .plan =
               [](const ProbeOptions& options) {
                 return HostProbePlan({.mode = options.mode,
                                       .matmuls = options.matmuls,
                                       .onednn_library = options.onednn_library,
                                       .memory_cap_bytes = options.memory_cap_bytes});
               }}};
}

}  // namespace sextant
