// All backends that this program is built with.
#ifndef SEXTANT_GPU_PROBE_BACKENDS_H_
#define SEXTANT_GPU_PROBE_BACKENDS_H_

#include <vector>

#include "gpu_probe/backend.h"

namespace sextant {

// In the order in which --backend=auto tries them.
std::vector<Backend> Backends();

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_BACKENDS_H_
