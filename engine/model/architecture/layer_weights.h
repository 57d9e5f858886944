// The parameter tensors of one layer, and a list that collects tensors place by place.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_WEIGHTS_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// The place of tensors, and the number of layers that have them.
struct WeightPlace {
  ModelPart part;
  int layer_kind = -1;
  int64_t layers = 1;
  int64_t trainable_layers = 1;
};

// A map from `columns` features to `rows`, with a bias of `rows` if it has one.
struct LinearWeights {
  absl::string_view module;
  absl::string_view name;
  WeightComponent component;
  int64_t rows;
  int64_t columns;
  bool bias = false;
  WeightComponent bias_component = WeightComponent::kBias;
  int64_t copies = 1;
  int64_t active_copies = 1;
  int64_t padding_rows = 0;
  bool learned = true;  // updated by gradients
};

// A norm over `length` features.
struct NormWeights {
  absl::string_view module;
  absl::string_view name;
  NormVariant variant;
  int64_t length;
};

class WeightList {
 public:
  WeightList() { tensors_.reserve(kUsualCount); }

  // Tensors added from here on are at `place`.
  void GoTo(const WeightPlace& place) { place_ = place; }

  void Add(const LinearWeights& linear);
  void Add(const NormWeights& norm);
  void Add(WeightTensor tensor);

  WeightTensors Take() { return std::move(tensors_); }

 private:
  static constexpr size_t kUsualCount = 64;  // of tensors; more are allocated as they come

  WeightPlace place_ = {.part = ModelPart::kInput};
  WeightTensors tensors_;
};

// Appends the tensors of one `layer`, which has passed CheckLayer(), at the current place of
// `out`. Derived in docs/architecture.md.
void AddLayerWeights(const LayerSpec& layer, int64_t hidden_size, WeightList& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_WEIGHTS_H_
