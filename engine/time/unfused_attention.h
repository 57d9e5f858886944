// The time of attention in separate kernels: batched products, and passes over the matrix of scores
// between them.
#ifndef SEXTANT_ENGINE_TIME_UNFUSED_ATTENTION_H_
#define SEXTANT_ENGINE_TIME_UNFUSED_ATTENTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/stream_calibration.h"
#include "engine/hardware/placement.h"
#include "engine/operation/operation.h"
#include "engine/tensor/data_type.h"
#include "engine/time/operation_prediction.h"

namespace sextant {

// For q queries and k keys of key width e and value width v, a query heads that share g heads of
// keys, in b sequences:
//
//   forward   scores = Q K^T, o = P V: b g products of [a/g q, k] over e, and of [a/g q, v] over k
//   backward  dV = P^T dO, dP = dO V^T, dQ = dS K, dK = dS^T Q: of as many FLOPs each
//
// A group's queries are stacked, because they read the same keys. The whole square is multiplied
// under any mask. Source: engine/operation/op_kernels_tokens.cc counts the same kernels.
OperationProducts ProductsOfUnfused(const Attention& attention);

// Passes over the b a q k scores of one direction.
struct ScorePasses {
  StreamWork softmax;  // scaled and masked in one pass; backward its gradient
  StreamWork dropout;  // nothing where there is none
};
struct UnfusedPasses {
  ScorePasses forward;
  ScorePasses backward;
};

// How unfused attention runs, beyond its shape.
struct UnfusedAttention {
  Attention attention;
  bool dropout = false;  // of probabilities: one more pass either way, and a mask of a byte a score
};

// Scores and probabilities are of `type`, which is not kUnspecified. Bytes and FLOPs as
// engine/operation counts them.
UnfusedPasses PassesOf(const UnfusedAttention& unfused, DataType type);

// The products' times plus the passes'. `source` is that of the products. Absent where products or
// passes of `type` are unknown on `device`.
//
// Errors: those of MatmulModel::Of() and StreamModel::Of(), where measurements are damaged.
absl::StatusOr<absl::optional<OperationPrediction>> PredictUnfusedAttention(
    const UnfusedAttention& unfused, DataType type, const PlacedDevice& device);

// A sentence on the time of the passes, after a space; empty where there are none.
std::string PassesText(const OperationPrediction& prediction);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_UNFUSED_ATTENTION_H_
