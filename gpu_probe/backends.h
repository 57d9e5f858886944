// All backends that this program is built with.
#ifndef SEXTANT_GPU_PROBE_BACKENDS_H_
#define SEXTANT_GPU_PROBE_BACKENDS_H_

#include <vector>

#include "gpu_probe/backend.h"

namespace sextant {

// The first of them is what --backend=auto takes.
std::vector<Backend> Backends();

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_BACKENDS_H_
