// The slowdown of matrix products from bursts of milliseconds to runs of minutes.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_SUSTAINED_RATE_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_SUSTAINED_RATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// Factors on a burst's time; below 1 where training was seen to be faster than the bursts published
// for another product of the chip. low <= expected <= high.
struct Derating {
  double low = 1;
  double expected = 1;
  double high = 1;
  std::string citation = {};
};

// For a device without a measured long run: what kSustained of sustained_rate.cc states of
// `accelerator`, and of any other (null: not in the catalogue) the neutral value: long searches
// average 0.80 of the H100's dense bf16 peak (stas00/ml-engineering), where the best burst of
// published tables has 0.87, and the widest interval of the table.
inline constexpr double kNeutralDerating = 1.1;
Derating DeratingOfUnmeasured(const Accelerator* accelerator, DataType type);

// The first of
//   the sustained over the burst time of one shape in `type`, where both were measured
//   the sustained time of that shape over its burst time by `matmuls`
//   no derating for a processor: its grids run for seconds
//   DeratingOfUnmeasured()
//
// Errors: those of `matmuls`.
absl::StatusOr<Derating> DeratingOfMeasured(const MeasuredKernels& measured, DataType type,
                                            MatmulsOfDevice matmuls);

// `burst` in a run of hours. It grows by the share of `work_share` alone, 0 to 1
// (MatmulPredictor::WorkShare()): a power limit lowers the units' clock and not the memory's.
//
//   t (1 + (f - 1) s),  f the derating's factor, s the share
//
// The errors of time and factor are independent: relative distances of the ends add up in squares.
// The low end is the burst's at least.
KernelTime Sustained(const KernelTime& burst, const Derating& derating, double work_share);

// The factor of attention in one kernel. No long run of it is published. Exponentials and sums hold
// its matrix units back, so that they draw less power than a product's: no more than the neutral
// factor is expected. The high end is the products'.
Derating DeratingOfAttention(Derating of_products);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_SUSTAINED_RATE_H_
