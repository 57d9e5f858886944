// Collects the tensors of one place of a model after another.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_WEIGHT_LIST_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_WEIGHT_LIST_H_

#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "engine/model/architecture/layer_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// Where tensors stand, and in how many layers.
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
  bool learned = true;  // by gradients
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
  // Tensors added from here on stand at `place`.
  void GoTo(const WeightPlace& place) { place_ = place; }

  void Add(const LinearWeights& linear);
  void Add(const NormWeights& norm);
  void Add(WeightTensor tensor);

  WeightTensors Take() { return std::move(tensors_); }

 private:
  WeightPlace place_ = {.part = ModelPart::kInput};
  WeightTensors tensors_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_WEIGHT_LIST_H_
