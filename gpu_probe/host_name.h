// The name of this host.
#ifndef SEXTANT_GPU_PROBE_HOST_NAME_H_
#define SEXTANT_GPU_PROBE_HOST_NAME_H_

#include <unistd.h>

#include <array>
#include <string>

namespace sextant {

// "" where the system does not tell. Here whole: each backend is a library without the others.
inline std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_NAME_H_
