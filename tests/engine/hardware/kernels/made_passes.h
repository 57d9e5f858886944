// Passes over the memory of devices that never were, by plain laws.
#ifndef SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_PASSES_H_
#define SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_PASSES_H_

#include <functional>

#include "engine/hardware/kernels/stream_calibration.h"

namespace sextant {

// Seconds of a kernel that reads, writes and computes so much.
using PassLaw = std::function<double(const StreamWork&)>;

// A GPU that reads at 3e12 and writes at 2.5e12 bytes a second, one after the other, and does
// multiply-adds at 4e13 FLOP/s at the same time, combined as (m^3 + c^3)^(1/3), and takes 2 us at
// least.
double PlainSeconds(const StreamWork& work);

// The passes of a standard probe of a GPU: all five of 1 GiB, copies of 64 KiB to 1 GiB, a ladder
// of 1 to 128 multiply-adds; `law` times (1 + `noise` x a normal number).
StreamCalibration MadePasses(const PassLaw& law, double noise = 0, unsigned seed = 1);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_PASSES_H_
