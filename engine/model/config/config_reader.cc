#include "engine/model/config/config_reader.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/text.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;
constexpr int64_t kMaxSize = 1'000'000'000;
constexpr size_t kMaxNameBytes = 64;

bool IsWhole(const ConfigValue& value, int64_t low) {
  return value.kind == Kind::kInteger && value.integer >= low && value.integer <= kMaxSize;
}

// The object before the first dot of `name`; empty where there is no dot.
absl::string_view ObjectOf(absl::string_view name) {
  const size_t dot = name.find('.');
  return dot == absl::string_view::npos ? "" : name.substr(0, dot);
}

using Kind = ConfigValue::Kind;

// Fields that change the parameter count in a family that reads them, or in code derived from one.
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

// Words in a field's name that refer to parts that no dense decoder has.
constexpr absl::string_view kCountedWords[] = {
    "adapter", "adapters", "audio", "encoder", "expert", "experts", "lora",
    "mamba",   "moe",      "mtp",   "nextn",   "ssm",    "vision",
};

// Last words in the names of rates and weights: fractions that don't affect the count.
constexpr absl::string_view kRateWords[] = {
    "alpha", "coef", "coeff", "dropout", "jitter", "layerdrop",
    "loss",  "prob", "rate",  "scale",   "weight",
};

// A field of Gemma's embedding models.
constexpr char kBothWays[] = "use_bidirectional_attention";

// Layers that differ in their mask, not in their parameters.
constexpr absl::string_view kPlainLayerTypes[] = {"full_attention", "sliding_attention",
                                                  "chunked_attention"};

template <typename Names>
bool Contains(const Names& names, absl::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsCounted(absl::string_view name) {
  if (name == "moe_normalize_expert_weights") return false;  // dbrx: the order of a norm
  if (Contains(kCountedNames, name)) return true;
  // A token's id is not a size: vision_start_token_id.
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

// True where `digits`, a JSON number, is 0: 0.0, -0.00, 0e5.
bool IsZero(absl::string_view digits) {
  return digits.substr(0, digits.find_first_of("eE")).find_first_of("123456789") ==
         absl::string_view::npos;
}

// True where `value` means none. One expert is a plain feed-forward block. 8.0 may be a count like
// 8: a fraction is ignored only where its name says that it is a rate.
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

// Calls `visit` with every unread field, or with its unread members.
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

// Returns "moe_loss_weight" for "ffn_config.moe_loss_weight".
absl::string_view LastName(absl::string_view name) {
  return name.substr(name.find('.') == absl::string_view::npos ? 0 : name.find('.') + 1);
}

}  // namespace

const ConfigValue* ConfigReader::Lookup(absl::string_view name) const {
  const absl::string_view object = ObjectOf(name);
  const auto found = fields_.find(object.empty() ? name : object);
  if (found == fields_.end()) return nullptr;
  if (object.empty()) return &found->second;
  const absl::string_view member = name.substr(object.size() + 1);
  for (const ConfigValue& value : found->second.elements) {
    if (value.name == member) return &value;
  }
  return nullptr;
}

const ConfigValue* ConfigReader::Mark(absl::string_view name) {
  RefuseOddObject(name);
  const ConfigValue* value = Lookup(name);
  if (value != nullptr) read_.insert(std::string(name));
  return value;
}

// The field that holds the member must be an object, with one member of that name.
void ConfigReader::RefuseOddObject(absl::string_view name) {
  const absl::string_view object = ObjectOf(name);
  const auto found = fields_.find(object);
  if (object.empty() || found == fields_.end()) return;
  const ConfigValue& value = found->second;
  if (value.kind != Kind::kObject && value.kind != Kind::kNull) {
    Refuse(object, absl::StrCat("must be an object, not ", Quoted(value)));
    odd_objects_.insert(std::string(object));
  }
  const absl::string_view member = name.substr(object.size() + 1);
  const auto same = std::count_if(value.elements.begin(), value.elements.end(),
                                  [&](const ConfigValue& e) { return e.name == member; });
  if (same > 1) Refuse(name, "is given twice: write it once");
}

const ConfigValue* ConfigReader::Find(absl::string_view name) {
  const ConfigValue* value = Mark(name);
  return value == nullptr || value->kind == Kind::kNull ? nullptr : value;
}

void ConfigReader::RefuseNumber(absl::string_view name, int64_t low, const ConfigValue& value) {
  int64_t inside_quotes = 0;
  if (value.kind == Kind::kText && absl::SimpleAtoi(value.text, &inside_quotes)) {
    Refuse(name, absl::StrCat("must be a number: write ", inside_quotes, " without quotes"));
    return;
  }
  Refuse(name, absl::StrCat("must be a whole number from ", low, " to ", kMaxSize,
                            ", without fraction or exponent, not ", Quoted(value)));
}

int64_t ConfigReader::Size(absl::string_view name) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return 0;
  if (IsWhole(*value, 1)) return value->integer;
  RefuseNumber(name, 1, *value);
  return 0;
}

int64_t ConfigReader::RequiredSize(absl::string_view name, int64_t most) {
  const int64_t size = Size(name);
  FieldViolations found;
  found.Require("", name, size, 1, most);
  for (const FieldViolation& violation : found.all()) Refuse(name, violation.description);
  return found.empty() ? size : 0;
}

int64_t ConfigReader::Count(absl::string_view name, int64_t if_absent) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return if_absent;
  if (IsWhole(*value, 0)) return value->integer;
  RefuseNumber(name, 0, *value);
  return if_absent;
}

int64_t ConfigReader::Span(absl::string_view name, int64_t if_absent) {
  if (!Has(name)) return if_absent;
  return Size(name);
}

bool ConfigReader::Flag(absl::string_view name, bool if_absent) {
  const ConfigValue* value = Mark(name);
  if (value == nullptr) return if_absent;
  if (value->kind == Kind::kBoolean) return value->boolean;
  Refuse(name, absl::StrCat("must be true or false, not ", Quoted(*value)));
  return if_absent;
}

std::string ConfigReader::Text(absl::string_view name, absl::string_view if_absent) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return std::string(if_absent);
  if (value->kind == Kind::kText) return value->text;
  Refuse(name, absl::StrCat("must be a text, not ", Quoted(*value)));
  return std::string(if_absent);
}

absl::optional<std::vector<std::string>> ConfigReader::Texts(absl::string_view name) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  for (const ConfigValue& element : value->elements) {
    if (element.kind == Kind::kText) out.push_back(element.text);
  }
  if (value->kind == Kind::kArray && out.size() == value->element_count) return out;
  Refuse(name, absl::StrCat("must be an array of names, not ",
                            value->kind == Kind::kArray ? "of others" : Quoted(*value)));
  return {};
}

absl::optional<std::vector<int64_t>> ConfigReader::Integers(absl::string_view name) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return {};
  std::vector<int64_t> out;
  for (const ConfigValue& element : value->elements) {
    if (element.kind == Kind::kInteger) out.push_back(element.integer);
  }
  if (value->kind == Kind::kArray && out.size() == value->element_count) return out;
  Refuse(name, absl::StrCat("must be an array of whole numbers, not ",
                            value->kind == Kind::kArray ? "of others" : Quoted(*value)));
  return {};
}

void ConfigReader::Refuse(absl::string_view name, absl::string_view description) {
  if (odd_objects_.count(ObjectOf(name)) != 0) return;
  const std::string path = FieldPath(path_, Clip(name, kMaxNameBytes));
  if (!violations_.Mentions(path)) violations_.Add(path, description);
}

bool ConfigReader::HasReadInside(absl::string_view name) const {
  const std::string prefix = absl::StrCat(name, ".");
  const auto found = read_.lower_bound(prefix);
  return found != read_.end() && absl::StartsWith(*found, prefix);
}

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
