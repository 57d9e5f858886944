#include "engine/model/config/unread_fields.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

// Fields that change the count of a family that reads them, or of code derived from one.
constexpr absl::string_view kCountedNames[] = {
    "attention_bias",
    "attention_out_bias",
    "attn_bias",
    "bias",
    "block_configs",
    "embedding_size",
    "enable_bias",
    "ffn_dim",
    "ffn_hidden_size",
    "lm_head_bias",
    "mlp_bias",
    "multi_query",
    "n_inner",
    "num_kv_heads",
    "o_bias",
    "pruned_heads",
    "qk_layernorm",
    "qk_norm",
    "qkv_bias",
    "use_bias",
    "use_qk_norm",
    "use_qkv_bias",
    "use_qk_layernorm",
    "use_mlp_bias",
    "word_embed_proj_dim",
};

// Words of a field's name that speak of parts that no dense decoder has.
constexpr absl::string_view kCountedWords[] = {
    "adapter", "adapters", "audio", "encoder", "expert", "experts", "lora",
    "mamba",   "moe",      "mtp",   "nextn",   "ssm",    "vision",
};

// Last words of the names of rates and weights: fractions that count nothing.
constexpr absl::string_view kRateWords[] = {
    "alpha", "coef", "coeff", "dropout", "jitter", "layerdrop",
    "loss",  "prob", "rate",  "scale",   "weight",
};

// Of Gemma's embedding models.
constexpr char kBothWays[] = "use_bidirectional_attention";

// Layers that differ in what they look at, not in what they hold.
constexpr absl::string_view kPlainLayerTypes[] = {"full_attention", "sliding_attention",
                                                  "chunked_attention"};

template <typename Names>
bool Contains(const Names& names, absl::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsCounted(absl::string_view name) {
  if (name == "moe_normalize_expert_weights") return false;  // dbrx: the order of a norm
  if (Contains(kCountedNames, name)) return true;
  // A token's number is no size: vision_start_token_id.
  if (absl::EndsWith(name, "_id") || absl::EndsWith(name, "_index")) return false;
  if (absl::StrContains(name, "cross_attention")) return true;
  for (const absl::string_view word : absl::StrSplit(name, '_')) {
    if (Contains(kCountedWords, word)) return true;
  }
  return false;
}

bool IsRate(absl::string_view name) {
  const std::vector<absl::string_view> words = absl::StrSplit(name, '_');
  return Contains(kRateWords, words.back()) || absl::EndsWith(name, "_jitter_noise") ||
         absl::EndsWith(name, "_jitter_eps") || absl::EndsWith(name, "_capacity_factor") ||
         absl::EndsWith(name, "_scaling_factor");
}

// Whether `digits`, a JSON number, are 0: 0.0, -0.00, 0e5.
bool IsZero(absl::string_view digits) {
  return digits.substr(0, digits.find_first_of("eE")).find_first_of("123456789") ==
         absl::string_view::npos;
}

// Whether `value` says that there are none. One expert is a plain feed-forward block. 8.0 may
// be a count as well as 8: a fraction is passed over only where its name says that it is a rate.
bool SaysNone(absl::string_view name, const ConfigValue& value) {
  switch (value.kind) {
    case Kind::kNull:
      return true;
    case Kind::kOtherNumber:
      return IsRate(name) || IsZero(value.text);
    case Kind::kBoolean:
      return !value.boolean;
    case Kind::kInteger:
      return value.integer == 0 || (value.integer == 1 && absl::StrContains(name, "expert"));
    case Kind::kText:
      return value.text.empty();
    case Kind::kArray:
    case Kind::kObject:
      return value.element_count == 0;
  }
  return false;
}

bool IsPlain(const ConfigValue& type) {
  return type.kind == Kind::kText && Contains(kPlainLayerTypes, type.text);
}

bool HasPlainLayers(const ConfigValue& layer_types) {
  if (layer_types.kind == Kind::kNull) return true;
  return layer_types.kind == Kind::kArray &&
         std::all_of(layer_types.elements.begin(), layer_types.elements.end(), IsPlain);
}

// Calls `visit` with every unread field, or those members of it that were not read.
template <typename Visit>
void ForEachUnread(const ConfigReader& config, Visit visit) {
  for (const auto& [name, value] : config.fields()) {
    if (!config.HasReadInside(name)) {
      if (!config.HasRead(name)) visit(name, value);
      continue;
    }
    for (const ConfigValue& member : value.elements) {
      const std::string path = absl::StrCat(name, ".", member.name);
      if (!config.HasRead(path)) visit(path, member);
    }
  }
}

// "moe_loss_weight" of "ffn_config.moe_loss_weight".
absl::string_view LastName(absl::string_view name) {
  return name.substr(name.find('.') == absl::string_view::npos ? 0 : name.find('.') + 1);
}

}  // namespace

void RefuseCountedFields(ConfigReader& config) {
  ForEachUnread(config, [&config](const std::string& name, const ConfigValue& value) {
    if (name == "layer_types" && !HasPlainLayers(value)) {
      config.Refuse(name,
                    "must name full_attention, sliding_attention or chunked_attention layers "
                    "alone: others hold other parameters, and are not supported yet");
    } else if (name == kBothWays && !SaysNone(name, value)) {
      config.Refuse(name,
                    "makes tokens attend to later ones, which is not supported in this family: "
                    "remove it if yours does not");
    } else if (IsCounted(LastName(name)) && !SaysNone(LastName(name), value)) {
      config.Refuse(name, absl::StrCat(Quoted(value),
                                       " speaks of parameters that this family does not have "
                                       "here: remove the field if the model has none of them, "
                                       "else it is not supported yet"));
    }
  });
}

std::vector<std::string> IgnoredFields(const ConfigReader& config) {
  std::vector<std::string> out;
  ForEachUnread(config, [&out](const std::string& name, const ConfigValue& value) {
    if (value.kind != Kind::kNull) out.push_back(name);
  });
  return out;
}

}  // namespace sextant
