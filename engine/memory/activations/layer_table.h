// Finds what was computed of a layer before: by its part, its kind and its gradients. Kinds that
// differ in nothing but their names share it.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_TABLE_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "engine/memory/activations/activation_list.h"
#include "engine/model/trace/gradient_flow.h"

namespace sextant {

// The first few entries allocate nothing.
template <typename Value>
class LayerTable {
 public:
  // `alike_kinds` has for each kind the one that stands for it (CheckedModel::alike_kinds());
  // empty: each stands for itself. It outlives the table.
  explicit LayerTable(absl::Span<const int> alike_kinds = {}) : alike_kinds_(alike_kinds) {}

  size_t size() const { return known_.size(); }

  // Null where there is none yet. Valid until the next Add().
  const Value* Find(const ActivationPlace& place) const {
    const size_t key = KeyOf(place);
    if (!slots_.empty()) {
      return key < slots_.size() && slots_[key] > 0 ? &known_[slots_[key] - 1].second : nullptr;
    }
    for (const auto& [known, value] : known_) {
      if (known == key) return &value;
    }
    return nullptr;
  }

  // Adds that of a place that has none. Valid until the next one.
  Value& Add(const ActivationPlace& place) {
    known_.emplace_back(KeyOf(place), Value());
    if (known_.size() == kInlined + 1) {
      for (size_t i = 0; i < known_.size(); ++i) Index(i);
    } else if (known_.size() > kInlined) {
      Index(known_.size() - 1);
    }
    return known_.back().second;
  }

 private:
  static constexpr size_t kInlined = 8;
  static constexpr size_t kPlaces = 3;  // encoder, decoder and multi-token prediction

  size_t KeyOf(const ActivationPlace& place) const {
    const auto kind = static_cast<size_t>(place.layer_kind);
    const auto stands = alike_kinds_.empty() ? kind : static_cast<size_t>(alike_kinds_[kind]);
    // Where everything is trained, a module's layer is as the decoder's of its kind.
    const bool as_decoder = place.part == ModelPart::kDecoder || place.gradients == nullptr;
    const size_t part = place.part == ModelPart::kEncoder ? 0 : as_decoder ? 1 : 2;
    const size_t state =
        (place.state.frozen ? 2U : 0U) + (place.state.input_needs_gradient ? 1U : 0U);
    return (stands * kPlaces + part) * kLayerGradientStateCount + state;
  }

  void Index(size_t entry) {
    const size_t key = known_[entry].first;
    if (key >= slots_.size()) slots_.resize(key + 1);
    slots_[key] = static_cast<uint16_t>(entry + 1);
  }

  const absl::Span<const int> alike_kinds_;
  absl::InlinedVector<std::pair<size_t, Value>, kInlined> known_;
  std::vector<uint16_t> slots_;  // by key: 1 + index of known_; empty up to kInlined
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_TABLE_H_
