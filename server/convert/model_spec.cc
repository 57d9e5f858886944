#include "server/convert/model_spec.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status_macros.h"
#include "engine/base/text.h"
#include "proto/words/config_text.h"
#include "server/convert/architecture.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using Kind = ConfigValue::Kind;

constexpr size_t kMaxTextBytes = 65'536;  // 64 KiB
constexpr size_t kMaxDepth = 64;
constexpr size_t kKeptDepth = 5;  // the top object is the first level; no family reads deeper
constexpr size_t kMaxFields = 1000;
constexpr size_t kMaxParserWordBytes = 200;

// The parser's own words (line, column, reason) without its prefix "[...] ". They quote the
// text, which may not be UTF-8.
std::string ParserWords(absl::string_view words) {
  const size_t prefix = words.find("] ");
  std::string out(prefix == absl::string_view::npos ? words : words.substr(prefix + 2));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return Clip(out, kMaxParserWordBytes);
}

// Receives the parser's events and keeps those of the first levels. Deeper levels are checked to be
// JSON and dropped: depth costs no stack.
class FieldCollector : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Keep({}); }
  bool boolean(bool value) override { return Keep({.kind = Kind::kBoolean, .boolean = value}); }
  bool number_integer(number_integer_t value) override {
    return Keep({.kind = Kind::kInteger, .integer = value});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Keep({.kind = Kind::kOtherNumber, .text = absl::StrCat(value)});
    }
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t, const string_t& digits) override {
    return Keep({.kind = Kind::kOtherNumber, .text = digits});
  }
  bool string(string_t& value) override { return Keep({.kind = Kind::kText, .text = value}); }
  bool binary(binary_t&) override { return false; }  // not a value of JSON text
  bool start_object(size_t) override { return Open(Kind::kObject); }
  bool start_array(size_t) override { return Open(Kind::kArray); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    if (depth_ != 1) {
      member_ = name;
      return true;
    }
    if (fields_.size() == kMaxFields) {
      return Refuse(kConfigPath, absl::StrCat("has more than ", kMaxFields,
                                              " fields: write a model's config.json"));
    }
    bool is_new = false;
    std::tie(field_, is_new) = fields_.emplace(name, ConfigValue());
    return is_new || Refuse(FieldPath(kConfigPath, Clip(name, kMaxQuotedBytes)),
                            "is given twice: write it once");
  }

  bool parse_error(size_t, const std::string&, const json::exception& error) override {
    return Refuse(kConfigPath, absl::StrCat("is not valid JSON: ", ParserWords(error.what())));
  }

  absl::StatusOr<ConfigFields> Take() {
    if (!refusal_.ok()) return refusal_;
    return std::move(fields_);
  }

 private:
  bool Refuse(absl::string_view field, absl::string_view description) {
    refusal_ = InvalidField(field, description);
    return false;
  }

  bool Keep(ConfigValue value) {
    if (depth_ == 0) {
      return Refuse(kConfigPath, absl::StrCat("must be a JSON object, as a config.json is, not ",
                                              Quoted(value)));
    }
    if (depth_ == 1) {
      field_->second = std::move(value);
    } else if (depth_ <= kKeptDepth) {
      ConfigValue& parent = *open_.back();
      ++parent.element_count;
      if (parent.kind == Kind::kObject) value.name = member_;
      parent.elements.push_back(std::move(value));
    }
    return true;
  }

  bool Open(Kind kind) {
    const bool is_top = depth_ == 0 && kind == Kind::kObject;
    if (!is_top && !Keep({.kind = kind})) return false;
    // A parent's elements do not move while one of them is open.
    if (depth_ == 1) open_ = {&field_->second};
    if (depth_ > 1 && depth_ < kKeptDepth) open_.push_back(&open_.back()->elements.back());
    if (++depth_ <= kMaxDepth) return true;
    return Refuse(kConfigPath, absl::StrCat("is nested deeper than ", kMaxDepth,
                                            " levels: write a model's config.json"));
  }

  bool Close() {
    if (--depth_ >= 1 && depth_ < kKeptDepth) open_.pop_back();
    return true;
  }

  size_t depth_ = 0;
  ConfigFields fields_;
  ConfigFields::iterator field_;    // the one being read, where depth_ is at least 1
  std::vector<ConfigValue*> open_;  // arrays and objects around the next value, outer first
  std::string member_;              // of an object below the top
  absl::Status refusal_;
};

constexpr size_t kMaxQuotedBytes = 40;  // that an error quotes

TransformerSpec TransformerFrom(const v1::TransformerSpec& m, FieldViolations& violations) {
  TransformerSpec out;
  out.layer_count = m.layer_count();
  out.hidden_size = m.hidden_size();
  out.feed_forward_size = m.feed_forward_size();
  out.attention_head_count = m.attention_head_count();
  out.key_value_head_count = m.key_value_head_count();
  out.head_size = m.head_size();
  out.vocabulary_size = m.vocabulary_size();
  out.tied_embeddings = m.tied_embeddings();
  out.learned_position_count = m.learned_position_count();
  out.feed_forward_kind = FeedForwardKindPair::From(
      m.feed_forward_kind(), "model.transformer.feed_forward_kind", violations);
  out.norm_kind = NormKindPair::From(m.norm_kind(), "model.transformer.norm_kind", violations);
  if (m.has_norms_per_layer()) out.norms_per_layer = m.norms_per_layer();
  if (m.has_final_norm()) out.final_norm = m.final_norm();
  out.query_key_norm =
      QueryKeyNormPair::From(m.query_key_norm(), "model.transformer.query_key_norm", violations);
  out.query_key_value_bias = m.query_key_value_bias();
  out.attention_output_bias = m.attention_output_bias();
  out.feed_forward_bias = m.feed_forward_bias();
  out.output_head_bias = m.output_head_bias();
  out.embedding_size = m.embedding_size();
  return out;
}

// "attention.query" is the query matrix of the module attention; "output_head" a module that is
// its own matrix.
AdapterSpec AdaptersFrom(const v1::ModelChanges::Adapters& m) {
  AdapterSpec out;
  out.rank = m.rank();
  out.targets.reserve(static_cast<size_t>(m.targets_size()));
  for (const std::string& target : m.targets()) {
    const std::pair<std::string, std::string> name =
        absl::StrSplit(target, absl::MaxSplits('.', 1));
    out.targets.push_back({.module = name.first, .name = name.second});
  }
  return out;
}

std::vector<WeightComponent> ComponentsFrom(const v1::ModelChanges& m,
                                            FieldViolations& violations) {
  std::vector<WeightComponent> out;
  for (int i = 0; i < m.frozen_components_size(); ++i) {
    const std::string& name = m.frozen_components(i);
    const auto component = FindWeightComponent(name);
    if (component.has_value()) {
      out.push_back(*component);
      continue;
    }
    violations.Add(
        absl::StrCat("model.changes.frozen_components[", i, "]"),
        absl::StrCat("\"", Clip(name, kMaxQuotedBytes),
                     "\" is not a component: write e.g. token_embedding, norm or router"));
    break;  // one such name says enough
  }
  return out;
}

ModelChanges ChangesFrom(const v1::ModelChanges& m, FieldViolations& violations) {
  ModelChanges out;
  if (m.has_vocabulary_multiple()) out.vocabulary_multiple = m.vocabulary_multiple();
  if (m.has_adapters()) out.adapters = AdaptersFrom(m.adapters());
  out.base_frozen = m.base_frozen();
  out.frozen_components = ComponentsFrom(m, violations);
  out.frozen_layer_count = m.frozen_layer_count();
  return out;
}

}  // namespace

absl::StatusOr<ConfigFields> ParseConfigFields(absl::string_view text) {
  if (text.empty()) return InvalidField(kConfigPath, "is empty: write the text of a config.json");
  std::string shorter;
  if (text.size() > kMaxTextBytes) text = shorter = words::WithoutQuantization(text);
  if (text.size() > kMaxTextBytes) {
    return InvalidField(kConfigPath,
                        absl::StrCat("is ", text.size(), " bytes long, more than ", kMaxTextBytes,
                                     " (64 KiB): write the config.json alone"));
  }
  std::string finite;
  if (absl::StrContains(text, "Infinity")) text = finite = words::WithFiniteNumbers(text);
  FieldCollector collector;
  json::sax_parse(text.begin(), text.end(), &collector);
  return collector.Take();
}

absl::StatusOr<HuggingFaceModel> ReadHuggingFaceConfig(absl::string_view text, UnreadRule rule) {
  SEXTANT_ASSIGN_OR_RETURN(const ConfigFields fields, ParseConfigFields(text));
  return ReadConfig(fields, kConfigPath, rule);
}

ModelSpec ModelSpecFrom(const v1::ModelSpec& m, FieldViolations& violations) {
  ModelSpec out;
  out.preset = m.preset();
  if (m.has_transformer()) out.transformer = TransformerFrom(m.transformer(), violations);
  if (m.has_parameter_count()) out.parameter_count = m.parameter_count();
  if (!m.hugging_face_config().empty()) {
    const auto read = ReadHuggingFaceConfig(
        m.hugging_face_config(), m.allow_unread_fields() ? UnreadRule::kName : UnreadRule::kRefuse);
    violations.AddAll(read.status());
    out.hugging_face_config = read.value_or(HuggingFaceModel());
  }
  if (m.allow_unread_fields() && m.hugging_face_config().empty()) {
    violations.Add("model.allow_unread_fields",
                   "is about model.hugging_face_config: give that, or leave it out");
  }
  if (m.has_architecture()) {
    out.architecture = ArchitectureFrom(m.architecture(), "model.architecture", violations);
  }
  if (m.has_changes()) out.changes = ChangesFrom(m.changes(), violations);
  return out;
}

}  // namespace sextant::server
