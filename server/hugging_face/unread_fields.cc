#include "server/hugging_face/unread_fields.h"

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
    "alpha", "coef", "coeff", "dropout", "jitter", "layerdrop", "loss", "prob", "rate", "scale",
};

// Layers that differ in what they look at, not in what they hold.
constexpr absl::string_view kPlainLayerTypes[] = {"full_attention", "sliding_attention",
                                                  "chunked_attention"};

template <typename Names>
bool Contains(const Names& names, absl::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsCounted(absl::string_view name) {
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

bool HasPlainLayers(const ConfigValue& layer_types) {
  if (layer_types.kind == Kind::kNull) return true;
  return layer_types.kind == Kind::kArray &&
         layer_types.texts.size() == layer_types.element_count &&
         std::all_of(layer_types.texts.begin(), layer_types.texts.end(),
                     [](const std::string& type) { return Contains(kPlainLayerTypes, type); });
}

}  // namespace

void RefuseCountedFields(ConfigReader& config) {
  for (const auto& [name, value] : config.fields()) {
    if (config.HasRead(name)) continue;
    if (name == "layer_types" && !HasPlainLayers(value)) {
      config.Refuse(name,
                    "must name full_attention, sliding_attention or chunked_attention layers "
                    "alone: others hold other parameters, and are not supported yet");
    } else if (IsCounted(name) && !SaysNone(name, value)) {
      config.Refuse(name, absl::StrCat(Quoted(value),
                                       " speaks of parameters that this family does not have "
                                       "here: remove the field if the model has none of them, "
                                       "else it is not supported yet"));
    }
  }
}

void RefuseContradictions(ConfigReader& config, const TransformerSpec& shape) {
  const TransformerSpec s = WithDefaults(shape);
  const std::pair<const char*, int64_t> sizes[] = {
      {"num_hidden_layers", s.layer_count},
      {"hidden_size", s.hidden_size},
      {"intermediate_size", s.feed_forward_size},
      {"num_attention_heads", s.attention_head_count},
      {"num_key_value_heads", s.key_value_head_count},
      {"head_dim", s.head_size},
      {"max_position_embeddings", s.learned_position_count},
  };
  for (const auto& [name, size] : sizes) {
    const auto found = config.fields().find(name);
    if (found == config.fields().end() || config.HasRead(name) || size == 0) continue;
    const ConfigValue& value = found->second;
    if (value.kind == Kind::kNull || (value.kind == Kind::kInteger && value.integer == size)) {
      continue;
    }
    config.Refuse(name, absl::StrCat("is ", Quoted(value), ", but this family's other fields make ",
                                     size, " of it: remove it, or mend them"));
  }
}

std::vector<std::string> IgnoredFields(const ConfigReader& config) {
  std::vector<std::string> out;
  for (const auto& [name, value] : config.fields()) {
    if (!config.HasRead(name) && value.kind != Kind::kNull) out.push_back(name);
  }
  return out;
}

}  // namespace sextant
