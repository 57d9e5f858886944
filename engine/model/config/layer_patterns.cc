#include "engine/model/config/layer_patterns.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"

namespace sextant {
namespace {

absl::optional<LayerSpan> SpanOf(absl::string_view type) {
  if (type == "full_attention") return LayerSpan::kAll;
  if (type == "sliding_attention") return LayerSpan::kWindow;
  if (type == "chunked_attention") return LayerSpan::kChunk;
  return {};
}

// Rejects a type whose length is not given.
void RequireLength(ConfigReader& config, LayerSpan span, const DecoderDraft& draft) {
  if (span == LayerSpan::kWindow && draft.window == 0) {
    config.Refuse("sliding_window", "is required: layer_types names sliding_attention layers");
  }
  if (span == LayerSpan::kChunk && draft.chunk == 0) {
    config.Refuse("layer_types",
                  "names chunked_attention layers, but no chunk is known: this family's chunk is "
                  "attention_chunk_size, if it has one");
  }
}

}  // namespace

void ReadWindowOfAllLayers(ConfigReader& config, int64_t if_absent, DecoderDraft& draft) {
  draft.window = config.Span("sliding_window", if_absent);
  SetSpans(
      LayerSpan::kWindow, [](int64_t) { return true; }, draft);
}

bool ReadLayerTypes(ConfigReader& config, DecoderDraft& draft) {
  const auto types = config.Texts("layer_types");
  if (!types.has_value()) return false;
  if (draft.layer_count == 0) return true;  // reported already
  if (static_cast<int64_t>(types->size()) != draft.layer_count) {
    config.Refuse("layer_types", absl::StrCat("names ", types->size(), " layers, not ",
                                              draft.layer_count, ": write one a layer"));
    return true;
  }
  draft.spans.clear();
  for (const std::string& type : *types) {
    const absl::optional<LayerSpan> span = SpanOf(type);
    if (!span.has_value()) {
      config.Refuse("layer_types",
                    "must name full_attention, sliding_attention or chunked_attention layers "
                    "alone: others hold other parameters, and are not supported yet");
      return true;
    }
    RequireLength(config, *span, draft);
    draft.spans.push_back(*span);
  }
  return true;
}

void ReadWindowPattern(ConfigReader& config, const WindowPattern& pattern, DecoderDraft& draft) {
  draft.window = config.Span("sliding_window", pattern.window_if_absent);
  int64_t period = pattern.period_name.empty() ? 0 : config.Size(pattern.period_name);
  if (period == 0) period = pattern.period;
  if (ReadLayerTypes(config, draft)) return;
  SetSpans(
      LayerSpan::kWindow, [&](int64_t i) { return (i + 1) % period != 0; }, draft);
}

absl::optional<std::vector<bool>> ReadLayerNumbers(ConfigReader& config, absl::string_view name,
                                                   const DecoderDraft& draft) {
  const auto numbers = config.Integers(name);
  if (!numbers.has_value() || draft.layer_count == 0) return {};
  std::vector<bool> out(static_cast<size_t>(draft.layer_count), false);
  for (const int64_t number : *numbers) {
    if (number < 0 || number >= draft.layer_count) {
      config.Refuse(
          name, absl::StrCat("numbers layers from 0 to ", draft.layer_count - 1, ", not ", number));
      return {};
    }
    if (out[static_cast<size_t>(number)]) {
      config.Refuse(name, absl::StrCat("numbers layer ", number, " twice: write it once"));
      return {};
    }
    out[static_cast<size_t>(number)] = true;
  }
  return out;
}

void ReadExperts(ConfigReader& config, const ExpertNames& names, int64_t size,
                 DecoderDraft& draft) {
  ExpertsSpec experts;
  experts.expert_count = config.RequiredSize(names.expert_count, kMaxExpertCount);
  experts.experts_per_token = config.RequiredSize(names.experts_per_token, kMaxExpertCount);
  experts.expert = {.kind = FeedForwardKind::kGated, .size = size};
  if (experts.expert_count > 0 && experts.experts_per_token > experts.expert_count) {
    config.Refuse(names.experts_per_token,
                  absl::StrCat("must be at most ", names.expert_count, " (", experts.expert_count,
                               "), not ", experts.experts_per_token));
  }
  draft.experts = experts;
}

}  // namespace sextant
