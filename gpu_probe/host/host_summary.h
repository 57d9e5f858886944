// What is computed from the figures once they are all there.
#ifndef SEXTANT_GPU_PROBE_HOST_HOST_SUMMARY_H_
#define SEXTANT_GPU_PROBE_HOST_HOST_SUMMARY_H_

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// A grid's best multiplication of a type below this share of its registers is told of in a note: a
// library that does not know the processor takes slow kernels silently. Above the other, one
// of the two figures is wrong, or the clock changed between them.
inline constexpr double kLowRegisterRatio = 0.5;
inline constexpr double kHighRegisterRatio = 1.05;

// Fills in register ratios, the ridge and the speed-up of fusion, from what was measured; takes
// out a chain of which only one half was. Adds notes on figures that contradict each other.
void SummariseHost(v1::Calibration* calibration);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_SUMMARY_H_
