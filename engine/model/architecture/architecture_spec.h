// A transformer of any public architecture, as data: kinds of layers, and which layer is of
// which kind. Nothing is an average: a model with two kinds of layers lists both.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURE_SPEC_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "engine/base/checked_math.h"
#include "engine/model/architecture/layer_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// `count` layers in a row, of the kind at `layer_kind` of ArchitectureSpec::layer_kinds.
struct LayerRun {
  int layer_kind = 0;
  int64_t count = 0;
  bool frozen = false;  // not trained, but for adapters
};

// An encoder or a decoder, in the order of the forward pass. No layers: no stack.
struct StackSpec {
  std::vector<LayerRun> layers = {};
  int64_t learned_position_count = 0;
  int64_t first_position = 0;  // row of a sequence's first token: no token has those before it
  int64_t relative_position_bucket_count = 0;  // a bias a head of one table for all layers (T5)
  bool embedding_norm = false;
  bool final_norm = true;
};

// What every stack is fed with. Narrower embeddings are projected to the hidden size, and back
// before the output head.
struct EmbeddingSpec {
  int64_t vocabulary_size = 0;
  int64_t padded_vocabulary_size = 0;  // 0: vocabulary_size
  int64_t embedding_size = 0;          // 0: hidden_size, no projections
  int64_t token_type_count = 0;
};

enum class OutputHeadKind {
  kUnspecified,
  kNone,  // the model ends at its last hidden state
  kTied,  // the token embedding's own matrix
  kUntied,
};

struct OutputSpec {
  OutputHeadKind head = OutputHeadKind::kUnspecified;
  bool head_bias = false;
  bool transform = false;  // hidden to hidden with a bias, and a norm, before the head (BERT)
  bool pooler = false;     // hidden to hidden with a bias, of the first token (BERT)
  int64_t pooled_class_count = 0;  // a classifier with a bias behind the pooler
};

// Modules that predict tokens further ahead: two norms, a projection from twice the hidden size,
// a layer and a final norm each. Embedding and output head are the main model's.
struct MultiTokenPredictionSpec {
  int64_t module_count = 0;
  int layer_kind = 0;
  bool final_norm = true;
};

// A matrix by WeightTensor's module and name: {"attention", "query"}.
struct WeightName {
  std::string module;
  std::string name;
};

// Low-rank adapters: a rank x columns and a rows x rank matrix beside each matrix named, in every
// part of the model that has one.
struct AdapterSpec {
  int64_t rank = 0;
  std::vector<WeightName> targets = {};
};

struct ArchitectureSpec {
  int64_t hidden_size = 0;
  NormVariant norm = NormVariant::kUnspecified;  // of the norms outside layers
  EmbeddingSpec embedding = {};
  std::vector<LayerSpec> layer_kinds = {};
  StackSpec encoder = {};
  StackSpec decoder = {};
  OutputSpec output = {};
  absl::optional<MultiTokenPredictionSpec> multi_token_prediction = {};
  absl::optional<AdapterSpec> adapters = {};
  bool base_frozen = false;  // adapters alone are trained
  std::vector<WeightComponent> frozen_components = {};
};

// `vocabulary_size` rounded up to a multiple of `multiple`, both at least 1.
constexpr int64_t PaddedVocabularySize(int64_t vocabulary_size, int64_t multiple) {
  return CeilDivide(vocabulary_size, multiple) * multiple;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURE_SPEC_H_
