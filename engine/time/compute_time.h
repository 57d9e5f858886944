// The time of a known amount of arithmetic at a stated share of peak.
#ifndef SEXTANT_ENGINE_TIME_COMPUTE_TIME_H_
#define SEXTANT_ENGINE_TIME_COMPUTE_TIME_H_

#include <cstdint>

#include "engine/base/units.h"

namespace sextant {

// All positive; utilisation at most 1.
struct ComputeTimeInput {
  Flops flops;
  FlopsPerSecond rate;  // of one device: its peak, or what was measured of it
  int64_t device_count = 1;
  double utilisation = 1;  // of that rate
};

// t = flops / (n x rate x utilisation)
//
// At the peak this is the definition of model FLOPs utilisation, solved for the time. With
// utilisation 1 it is the least time that `flops` can take; with an assumed one, the textbook's
// estimate.
// Source: Chowdhery et al. 2022 (arXiv 2204.02311) appendix B defines MFU.
Seconds ComputeTime(const ComputeTimeInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_COMPUTE_TIME_H_
