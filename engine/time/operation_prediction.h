// What an operation takes on a device, as measured kernels of its kind foretell it.
#ifndef SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_
#define SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_

#include <cstddef>
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

// Whether clocks are those of milliseconds or of hours.
enum class KernelRegime { kBurst, kSustained };

struct OperationPrediction {
  KernelTime forward;
  KernelTime backward;  // with the gradients of all operands; 0 where no kernel makes them
  KernelSource source;
  std::vector<NearbyShape> nearest;  // nearest first
  absl::optional<KernelTime> unfused = {};
  KernelRegime regime = KernelRegime::kBurst;
  bool streams = false;  // passes over memory, no products of matrices
  size_t device = 0;     // which of those asked decides
  // Of the backward pass; absent: `source`.
  absl::optional<KernelSource> backward_source = {};
};

// Times of bursts; MakeSustained() makes them those of a long run. Of what ProductsOf() knows, one
// product after the other; of attention in one kernel whose queries and keys are as many; and of
// layers of experts, PredictExperts(). PredictStreams() is of what multiplies no matrices. Of
// several devices that whose forward pass decides. Absent of other operations, and where nothing is
// known of one of the devices in `type`.
//
// Errors: those of GemmModel::Of() and its like, where what was measured is damaged.
absl::StatusOr<absl::optional<OperationPrediction>> PredictOperation(
    const Operation& operation, DataType type, absl::Span<const PredictedDevice> devices,
    DeviceJoin join);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_
