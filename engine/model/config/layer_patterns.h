// Which layers of a config.json have a window, and which have experts. Every function reads its
// fields even where the draft's number of layers is at fault, so that they don't count as unread.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_LAYER_PATTERNS_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_LAYER_PATTERNS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/model/config/config_reader.h"
#include "engine/model/config/decoder_draft.h"

namespace sextant {

// sliding_window of all layers alike; null, and 0 of `if_absent`, are none.
void ReadWindowOfAllLayers(ConfigReader& config, int64_t if_absent, DecoderDraft& draft);

// sliding_window, and which layers have it: as layer_types says, else every layer but each
// `period`-th. A `period_name` is a field that may give another period.
struct WindowPattern {
  int64_t window_if_absent;
  int64_t period;
  absl::string_view period_name = "";
};
void ReadWindowPattern(ConfigReader& config, const WindowPattern& pattern, DecoderDraft& draft);

// layer_types, whose windows and chunks are draft.window and draft.chunk tokens long. False where
// it is absent.
bool ReadLayerTypes(ConfigReader& config, DecoderDraft& draft);

// Gives the layers for which `has` holds a span, if that span has a length.
template <typename Has>
void SetSpans(LayerSpan span, Has has, DecoderDraft& draft) {
  if ((span == LayerSpan::kWindow ? draft.window : draft.chunk) == 0) return;
  draft.spans.assign(static_cast<size_t>(draft.layer_count), LayerSpan::kAll);
  for (int64_t i = 0; i < draft.layer_count; ++i) {
    if (has(i)) draft.spans[static_cast<size_t>(i)] = span;
  }
}

// The layers that the array `name` numbers from 0, each once, as a flag a layer; none where it is
// absent.
absl::optional<std::vector<bool>> ReadLayerNumbers(ConfigReader& config, absl::string_view name,
                                                   const DecoderDraft& draft);

// Gives the layers for which `has` holds experts.
template <typename Has>
void SetExpertLayers(Has has, DecoderDraft& draft) {
  draft.expert_layers.assign(static_cast<size_t>(draft.layer_count), false);
  for (int64_t i = 0; i < draft.layer_count; ++i) {
    draft.expert_layers[static_cast<size_t>(i)] = has(i);
  }
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_LAYER_PATTERNS_H_
