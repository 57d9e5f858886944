#include "engine/model/config/layer_patterns.h"

#include <algorithm>
#include <string>
#include <utility>

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

bool ReadLayerTypes(ConfigReader& config, DecoderDraft& draft, int64_t more) {
  const auto types = config.Texts("layer_types");
  if (!types.has_value()) return false;
  if (draft.layer_count == 0) return true;  // reported already
  const auto named = static_cast<int64_t>(types->size());
  if (named != draft.layer_count && named != draft.layer_count + more) {
    config.Refuse("layer_types", absl::StrCat("names ", types->size(), " layers, not ",
                                              draft.layer_count, ": write one a layer"));
    return true;
  }
  draft.spans.clear();
  for (const std::string& type :
       absl::MakeConstSpan(*types).first(static_cast<size_t>(draft.layer_count))) {
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

bool ReadMixerTypes(absl::string_view name, const MixerWords& words, LayerParts others,
                    ConfigReader& config, DecoderDraft& draft) {
  const auto types = config.Texts(name);
  if (!types.has_value()) return false;
  if (draft.layer_count == 0) return true;  // reported already
  const bool known = std::all_of(types->begin(), types->end(), [&words](const std::string& type) {
    return type == words.attention || type == words.mixer;
  });
  if (!known || static_cast<int64_t>(types->size()) != draft.layer_count) {
    config.Refuse(name, absl::StrCat("must name ", draft.layer_count, " layers, ", words.mixer,
                                     " or ", words.attention, ": others are not supported yet"));
    return true;
  }
  SetParts([&](int64_t i) { return (*types)[static_cast<size_t>(i)] == words.attention; }, others,
           draft);
  return true;
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

void RequireGiven(absl::string_view name, ConfigReader& config) {
  if (!config.Has(name)) config.Refuse(name, "is required: write a number, or 0 for none");
}

void Pass(ConfigReader& config, std::initializer_list<absl::string_view> names) {
  for (const absl::string_view name : names) config.Find(name);
}

void RequireType(absl::string_view name, absl::string_view type, const DecoderDraft& draft,
                 ConfigReader& config) {
  const auto types = config.Texts(name);
  if (!types.has_value() || draft.layer_count == 0) return;
  const bool same = std::all_of(types->begin(), types->end(),
                                [type](const std::string& each) { return each == type; });
  if (same && static_cast<int64_t>(types->size()) == draft.layer_count) return;
  config.Refuse(name, absl::StrCat("must be ", type, " for each of ", draft.layer_count,
                                   " layers: others are not supported yet"));
}

bool ReadFeedForwardTypes(ConfigReader& config, DecoderDraft& draft) {
  constexpr absl::string_view kName = "mlp_layer_types";
  const auto types = config.Texts(kName);
  if (!types.has_value()) return false;
  if (draft.layer_count == 0) return true;  // reported already
  const bool known = std::all_of(types->begin(), types->end(), [](const std::string& type) {
    return type == "dense" || type == "sparse";
  });
  if (!known || static_cast<int64_t>(types->size()) != draft.layer_count) {
    config.Refuse(kName, absl::StrCat("must name ", draft.layer_count, " layers, dense or sparse"));
    return true;
  }
  SetExpertLayers([&](int64_t i) { return (*types)[static_cast<size_t>(i)] == "sparse"; }, draft);
  return true;
}

// The groups that group-limited routing chooses first: DeepSeek-AI 2024 (arXiv 2412.19437) section
// 2.1.2. One group is not a limit.
void ReadExpertGroups(ConfigReader& config, ExpertsSpec& experts) {
  const int64_t groups = config.Size("n_group");
  const int64_t chosen = config.Size("topk_group");
  if (groups <= 1) return;
  if (chosen < 1 || chosen > groups || experts.expert_count % groups != 0 ||
      experts.expert_count / groups * chosen < experts.experts_per_token) {
    config.Refuse(
        "topk_group",
        absl::StrCat("must be 1 to n_group (", groups,
                     "), which divides the number of experts, and hold those of a token"));
    return;
  }
  experts.group_count = groups;
  experts.groups_per_token = chosen;
}

namespace {

// The one number that all elements of the array `name` are.
int64_t UniformNumber(absl::string_view name, std::pair<int64_t, int64_t> limits, int64_t layers,
                      ConfigReader& config) {
  const auto [least, most] = limits;
  const auto numbers = config.Integers(name);
  if (!numbers.has_value() || layers == 0) return 0;  // reported already
  if (static_cast<int64_t>(numbers->size()) != layers) {
    config.Refuse(name, absl::StrCat("has ", numbers->size(), " numbers, not ", layers,
                                     ": write one a layer, or one for all"));
    return 0;
  }
  const int64_t number = numbers->front();
  const bool same = std::all_of(numbers->begin(), numbers->end(),
                                [number](int64_t each) { return each == number; });
  if (same && number >= least && number <= most) return number;
  config.Refuse(name, absl::StrCat("must be one number from ", least, " to ", most,
                                   " for all layers: describe them one by one in "
                                   "model.architecture"));
  return 0;
}

bool IsArray(absl::string_view name, ConfigReader& config) {
  const ConfigValue* value = config.Find(name);
  return value != nullptr && value->kind == ConfigValue::Kind::kArray;
}

}  // namespace

int64_t ReadUniformSize(absl::string_view name, int64_t most, int64_t layers,
                        ConfigReader& config) {
  return IsArray(name, config) ? UniformNumber(name, {1, most}, layers, config)
                               : config.RequiredSize(name, most);
}

int64_t ReadUniformCount(absl::string_view name, int64_t most, int64_t layers,
                         ConfigReader& config) {
  if (IsArray(name, config)) return UniformNumber(name, {0, most}, layers, config);
  const int64_t count = config.Count(name, 0);
  if (count <= most) return count;
  config.Refuse(name, absl::StrCat("must be at most ", most));
  return 0;
}

void ReadExperts(ConfigReader& config, const ExpertNames& names, int64_t size,
                 DecoderDraft& draft) {
  ExpertsSpec experts;
  experts.expert_count =
      ReadUniformSize(names.expert_count, kMaxExpertCount, draft.layer_count, config);
  experts.experts_per_token =
      ReadUniformSize(names.experts_per_token, kMaxExpertCount, draft.layer_count, config);
  experts.expert = {.kind = FeedForwardKind::kGated, .size = size};
  if (experts.expert_count > 0 && experts.experts_per_token > experts.expert_count) {
    config.Refuse(names.experts_per_token,
                  absl::StrCat("must be at most ", names.expert_count, " (", experts.expert_count,
                               "), not ", experts.experts_per_token));
  }
  draft.experts = experts;
}

}  // namespace sextant
