// An attention kernel that exists only here: blocks of threads, one after another on the unit that
// is free first.
#ifndef SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_SIMULATED_ATTENTION_H_
#define SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_SIMULATED_ATTENTION_H_

#include <vector>

#include "engine/hardware/kernels/attention_model.h"

namespace sextant {

struct SimulatedKernel {
  int64_t units = 132;
  int64_t query_tile = 128;
  WindowForm window = WindowForm::kSliding;
  double seconds_per_pair = 8e-13;  // and element of a head, on one unit: 660e12 FLOP/s on 132
  double seconds_per_element = 1e-12;
  double launch = 8e-6;
};

// Blocks of the longest queue first, as kernels for causal masks start them.
double SimulatedSeconds(const AttentionShape& shape, const SimulatedKernel& kernel);

// Sequences of 1024 to 16384, 4 to 256 heads in the batch, key and value heads as many or a fourth.
std::vector<AttentionPoint> SimulatedPoints(const AttentionShape& like,
                                            const SimulatedKernel& kernel);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_SIMULATED_ATTENTION_H_
