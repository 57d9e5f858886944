// The name of this host.
#ifndef SEXTANT_GPU_PROBE_HOST_NAME_H_
#define SEXTANT_GPU_PROBE_HOST_NAME_H_

#include <string>

namespace sextant {

// "" where the system does not tell.
std::string HostName();

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_NAME_H_
