// The parameter tensors of a model, each with name, shape and place. Counts, optimizer state and
// sharding all use this one list, so that they can't disagree.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_WEIGHT_TENSOR_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_WEIGHT_TENSOR_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/model/block/block_place.h"

namespace sextant {

// The component that a tensor belongs to, in the order of the forward pass.
enum class WeightComponent {
  kTokenEmbedding,
  kPositionEmbedding,  // learned positions, and the table of relative ones
  kTokenTypeEmbedding,
  kEmbeddingProjection,
  kAttentionQueryKeyValue,
  kAttentionLatent,
  kAttentionOutput,
  kAttentionSinks,
  kMixer,  // of mixers: matrices, filters, decays and steps
  kRouter,
  kRoutedExperts,
  kSharedExperts,
  kDenseFeedForward,
  kBias,  // of all matrices except the output head
  kNorm,
  kMultiTokenProjection,
  kPooler,           // the pooled token's projection and its classifier
  kOutputTransform,  // the projection before an encoder's output head
  kOutputHead,
  kAdapter,
};
inline constexpr int kWeightComponentCount = 20;

// "token_embedding", "routed_experts", ...
absl::string_view WeightComponentName(WeightComponent component);

// The component with that name, if any.
absl::optional<WeightComponent> FindWeightComponent(absl::string_view name);

// True where "N without embeddings" excludes `component`. Source: Kaplan et al. 2020 (arXiv
// 2001.08361) section 2.1 exclude vocabulary and position embeddings; an untied output head is the
// vocabulary's second copy and is excluded, too.
bool IsEmbedding(WeightComponent component);

enum class ModelPart {
  kInput,  // embeddings that all stacks share
  kEncoder,
  kDecoder,
  kOutput,
  kMultiTokenPrediction,
};
inline constexpr int kModelPartCount = 5;

// "input", "multi_token_prediction", ...
absl::string_view ModelPartName(ModelPart part);

enum class WeightRole { kWeight, kBias, kAdapterDown, kAdapterUp };

// Tensors of one shape at one place in the layers of one kind. A vector has columns == 1.
struct WeightTensor {
  absl::string_view module;  // "attention"; static
  absl::string_view name;    // "query"; may be empty; static
  WeightRole role;
  WeightComponent component;
  ModelPart part = ModelPart::kInput;
  int layer_kind = -1;  // index into ArchitectureSpec::layer_kinds; -1: no layer
  int64_t rows;
  int64_t columns;
  int64_t copies = 1;         // in one layer
  int64_t active_copies = 1;  // those used by one token
  int64_t layers = 1;
  int64_t trainable_layers = 1;
  int64_t padding_rows = 0;               // rows that only pad the vocabulary
  absl::optional<BlockPlace> block = {};  // of a block's tensor

  bool is_vector() const { return columns == 1; }
  int64_t trained_copies() const { return copies * trainable_layers; }
};

using WeightTensors = std::vector<WeightTensor>;

// True where `tensor` is trained in a layer with the given `frozen_run`. Adapters always are.
inline bool IsTrained(const WeightTensor& tensor, bool frozen_run) {
  if (tensor.component == WeightComponent::kAdapter) return true;
  return !frozen_run && tensor.trainable_layers > 0;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_WEIGHT_TENSOR_H_
