// The layers of a config.json that have a window, and those that have experts. Every function
// reads its fields even where the draft's number of layers is invalid, so that they don't count as
// unread.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_LAYER_PATTERNS_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_LAYER_PATTERNS_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/model/config/config_reader.h"
#include "engine/model/config/decoder_draft.h"

namespace sextant {

// sliding_window for all layers alike; null, and an `if_absent` of 0, mean none.
void ReadWindowOfAllLayers(ConfigReader& config, int64_t if_absent, DecoderDraft& draft);

// sliding_window, and the layers that have it: as in layer_types, else all layers but every
// `period`-th. `period_name` is a field that may give another period.
struct WindowPattern {
  int64_t window_if_absent;
  int64_t period;
  absl::string_view period_name = "";
};

void ReadWindowPattern(ConfigReader& config, const WindowPattern& pattern, DecoderDraft& draft);

// layer_types, whose windows and chunks are draft.window and draft.chunk tokens long. Returns
// false where it is absent. `more`: types of as many further modules may follow.
bool ReadLayerTypes(ConfigReader& config, DecoderDraft& draft, int64_t more = 0);

// Gives `span` to the layers where `has` returns true, if that span has a length.
template <typename Has>
void SetSpans(LayerSpan span, Has has, DecoderDraft& draft) {
  if ((span == LayerSpan::kWindow ? draft.window : draft.chunk) == 0) return;
  draft.spans.assign(static_cast<size_t>(draft.layer_count), LayerSpan::kAll);
  for (int64_t i = 0; i < draft.layer_count; ++i) {
    if (has(i)) draft.spans[static_cast<size_t>(i)] = span;
  }
}

// Gives attention and a feed-forward to the layers where `attends` returns true, and `others` to
// the rest.
template <typename Attends>
void SetParts(Attends attends, LayerParts others, DecoderDraft& draft) {
  draft.parts.assign(static_cast<size_t>(draft.layer_count), others);
  for (int64_t i = 0; i < draft.layer_count; ++i) {
    if (attends(i)) draft.parts[static_cast<size_t>(i)] = {};
  }
}

// The words of a file for layers with attention and with a mixer.
struct MixerWords {
  absl::string_view attention;
  absl::string_view mixer;
};

// The array `name`, a word a layer: sets the draft's parts as SetParts() does. Returns false where
// it is absent.
bool ReadMixerTypes(absl::string_view name, const MixerWords& words, LayerParts others,
                    ConfigReader& config, DecoderDraft& draft);

// The layers that the array `name` lists, numbered from 0, each once, as a flag per layer; absent
// where the field is absent.
absl::optional<std::vector<bool>> ReadLayerNumbers(ConfigReader& config, absl::string_view name,
                                                   const DecoderDraft& draft);

// Refuses `name` where it is absent: what then stands for it is one model's. Null is none.
void RequireGiven(absl::string_view name, ConfigReader& config);

// Fields of a family that hold no parameters: marks them as read.
void Pass(ConfigReader& config, std::initializer_list<absl::string_view> names);

// The array `name`, where it is there, has to be `type` for each layer.
void RequireType(absl::string_view name, absl::string_view type, const DecoderDraft& draft,
                 ConfigReader& config);

// mlp_layer_types, dense or sparse a layer: which have experts. Returns false where it is absent.
bool ReadFeedForwardTypes(ConfigReader& config, DecoderDraft& draft);

// Gives experts to the layers where `has` returns true.
template <typename Has>
void SetExpertLayers(Has has, DecoderDraft& draft) {
  draft.expert_layers.assign(static_cast<size_t>(draft.layer_count), false);
  for (int64_t i = 0; i < draft.layer_count; ++i) {
    draft.expert_layers[static_cast<size_t>(i)] = has(i);
  }
}

// The config's names of the sizes of a mixture of experts.
struct ExpertNames {
  absl::string_view expert_count;
  absl::string_view experts_per_token = "num_experts_per_tok";
};

// A size, or an array of the same size for each of `layers`.
int64_t ReadUniformSize(absl::string_view name, int64_t most, int64_t layers, ConfigReader& config);
// The same, or 0 where the field is absent; 0 is allowed.
int64_t ReadUniformCount(absl::string_view name, int64_t most, int64_t layers,
                         ConfigReader& config);

// The groups that group-limited routing chooses first, n_group and topk_group.
void ReadExpertGroups(ConfigReader& config, ExpertsSpec& experts);

// Reads the number of gated experts of `size`, and of experts per token, into draft.experts. A
// token uses at most all of them.
void ReadExperts(ConfigReader& config, const ExpertNames& names, int64_t size, DecoderDraft& draft);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_LAYER_PATTERNS_H_
