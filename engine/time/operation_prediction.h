// What an operation takes on a device, as measured kernels of its kind foretell it.
#ifndef SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_
#define SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/operation/operation.h"

namespace sextant {

// One of them: a product of the catalogue, or a device that was measured. Neither: a device that
// is nothing but rates.
struct PredictedDevice {
  const Accelerator* accelerator = nullptr;
  const MeasuredKernels* measured = nullptr;
};

// How the times of several devices are one.
enum class DeviceJoin {
  kSlowest,  // of a placement: work waits for the slowest
  kMedian,   // of a product: the lower of both middles where devices are even in number
};

// Which of `seconds`, which are one or more, decides. Of a product, where `sources` are given, only
// devices of the best of them take part: what one of them measured of a kind says more of all than
// what is published.
size_t DecidingDevice(absl::Span<const double> seconds, DeviceJoin join,
                      absl::Span<const RateSource> sources = {});

struct NearbyShape {
  std::string shape;  // "4096x6144x4096"
  Seconds time;
};

struct OperationPrediction {
  KernelTime forward;
  KernelTime backward;  // with the gradients of all operands
  KernelSource source;
  std::vector<NearbyShape> nearest;  // nearest first
  // Of the backward pass; absent: `source`.
  absl::optional<KernelSource> backward_source = {};
};

// Of a matrix product, a linear layer (its bias is added by the same kernel), and attention in one
// kernel whose queries and keys are as many. The gradients of a product are two products: dx of
// [m, k] over n and dw of [k, n] over m, one after the other. Of several devices that whose forward
// pass decides. Absent of other operations, and where nothing is known of one of the devices in
// `type`.
//
// Errors: those of GemmModel::Of() and its like, where what was measured is damaged.
absl::StatusOr<absl::optional<OperationPrediction>> PredictOperation(
    const Operation& operation, DataType type, absl::Span<const PredictedDevice> devices,
    DeviceJoin join);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_
