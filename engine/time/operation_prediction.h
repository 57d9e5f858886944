// The time of an operation on a device, predicted from measured kernels of its kind.
#ifndef SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_
#define SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_

#include <cstddef>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/call_work.h"
#include "engine/base/note.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/stream_calibration.h"
#include "engine/hardware/placement.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/operation/operation.h"

namespace sextant {

// A measured matrix product, or a pass over memory.
struct NearbyShape {
  std::variant<MatmulShape, StreamWork> work;
  Seconds time;
};

// Clock rates of bursts of milliseconds, or of runs of hours.
enum class KernelRegime { kBurst, kSustained };

struct OperationPrediction {
  KernelTime forward;
  KernelTime backward;  // includes the gradients of all operands; 0 where no kernel makes them
  KernelSource source;
  std::vector<NearbyShape> nearest;  // nearest first
  absl::optional<KernelTime> unfused = {};
  KernelRegime regime = KernelRegime::kBurst;
  bool memory_pass = false;  // passes over memory, no matrix products
  bool attention = false;    // attention in one kernel
  // The share of the arithmetic in the time of products (MatmulPredictor::WorkShare()).
  double forward_work_share = 1;
  double backward_work_share = 1;
  Notes notes = {};   // on how the times were made
  size_t device = 0;  // the index of the device that decides
  // The source of the backward pass; absent: `source`.
  absl::optional<KernelSource> backward_source = {};
  // The parts of `forward` and `backward` that are passes over memory between products; absent:
  // none, or all of it (memory_pass).
  absl::optional<KernelTime> forward_passes = {};
  absl::optional<KernelTime> backward_passes = {};
};

// In `types`.input, and of products and layers of experts in `types`.scaling. A kProductUnaligned
// note says where sizes off a multiple of 64 or 8 make a product slower.
//
// Times of bursts; MakeSustained() converts them to a long run. Predicts operations known to
// ProductsOf(), as a sequence of products; attention in one kernel; attention in separate kernels
// without dropout, by PredictUnfusedAttention(); layers of experts, by PredictExperts(). Operations
// without matrix products: PredictMemoryPasses(). With several devices, the forward time decides
// between them. Absent for other operations, and where one of the devices is unknown in `type`.
// `operation` has passed CheckOperation().
//
// Errors: those of MatmulModel::Of() and of the other models, where measurements are damaged; and
// of `work`, where it is given: it is asked before each device's models are fitted.
absl::StatusOr<absl::optional<OperationPrediction>> PredictOperation(
    const Operation& operation, const OperationTypes& types, absl::Span<const PlacedDevice> devices,
    DeviceJoin join, CallWork* work = nullptr);

// The matrix products of an operation, in sequence.
struct OperationProducts {
  std::vector<MatmulBatch> forward;
  std::vector<MatmulBatch> backward;  // includes the gradients of all operands
};

// Covers matrix products, single and batched, a linear layer (its bias is added by the same
// kernel), and einsums whose every step is a product. A product y [m, n] over k has two gradients:
// one of [m, k] over n, one of [n, k] over m. Absent for other operations, including einsums that
// sum a single operand, read a diagonal, or multiply without summing.
//
// `operation` has passed CheckOperation().
absl::optional<OperationProducts> ProductsOf(const Operation& operation);

// The time of one after the other. Both intervals add up, because both predictions come from the
// same points and err in the same direction.
KernelTime SumOf(const KernelTime& a, const KernelTime& b);

// The sum of the products by `matmuls`, of `device`.
OperationPrediction PredictProducts(const PlacedDevice& device, const MatmulPredictor& matmuls,
                                    const OperationProducts& products);

// No backward pass was measured. Each product has two gradients with the same FLOPs each, and the
// work between products is small in comparison: twice the forward pass. Factors on the interval,
// not measured, assumed: MatmulFallbacks::kOtherPass, and the same again for weights' gradients,
// whose sums are as long as an expert's rows.
inline constexpr double kExpertsBackwardOverForward = 2;
inline constexpr Widening kExpertsBackward{.low = 0.8, .high = 1.45};

// The layer's shape as a device's kernels see it.
GroupedMatmulShape LayerShapeOf(const Experts& experts);

// The time of an expert layer on `device`, of products scaled as `scaling` says, else as usual in
// the type. Absent where nothing is known of it in `type`.
//
// Errors: those of DeviceModel::Experts().
absl::StatusOr<absl::optional<OperationPrediction>> PredictExperts(
    const Experts& experts, DataType type, const PlacedDevice& device,
    absl::optional<MatmulScaling> scaling = {});

// Converts `prediction`, of bursts on `device` in `type`, to sustained rates, and returns a
// kSustainedTimes note that says how. Products take longer by Sustained() of
// DeviceModel::SustainedDerating() and their work's share, attention by DeratingOfAttention().
// Passes over memory take the same time, also those between products: a power limit lowers the
// units' clock, not the memory's.
absl::StatusOr<Note> MakeSustained(const PlacedDevice& device, DataType type,
                                   OperationPrediction& prediction);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_OPERATION_PREDICTION_H_
