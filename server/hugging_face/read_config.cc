#include "server/hugging_face/read_config.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/dense_decoder.h"
#include "server/clip.h"
#include "server/hugging_face/config_fields.h"
#include "server/hugging_face/config_reader.h"
#include "server/hugging_face/families.h"
#include "server/hugging_face/unread_fields.h"
#include "server/hugging_face/unsupported.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

// Models around a text model: what they say of it is inside.
constexpr absl::string_view kWrappers[] = {"text_config", "llm_config", "language_config"};

// Null, having refused `architectures`, unless they are texts and there is one at least.
const std::vector<std::string>* ReadArchitectures(ConfigReader& config) {
  const ConfigValue* value = config.Find("architectures");
  if (value == nullptr) return nullptr;
  if (value->kind == Kind::kArray && value->texts.size() == value->element_count) {
    return value->texts.empty() ? nullptr : &value->texts;
  }
  config.Refuse("architectures", absl::StrCat("must be an array of names, not ", Quoted(*value)));
  return nullptr;
}

const Family* FamilyByArchitecture(ConfigReader& config,
                                   const std::vector<std::string>* architectures) {
  if (architectures == nullptr) {
    config.Refuse("model_type", ModelTypeMissing());
    return nullptr;
  }
  const Family* family = FindFamilyOfArchitecture(architectures->front());
  if (family == nullptr) {
    config.Refuse("architectures", WhyArchitectureUnsupported(architectures->front()));
  }
  return family;
}

const Family* FamilyByModelType(ConfigReader& config, const ConfigValue& model_type) {
  if (model_type.kind != Kind::kText) {
    config.Refuse("model_type",
                  absl::StrCat("must be a text such as \"llama\", not ", Quoted(model_type)));
    return nullptr;
  }
  const Family* family = FindFamily(model_type.text);
  if (family == nullptr) config.Refuse("model_type", WhyModelTypeUnsupported(model_type.text));
  return family;
}

// Whether the config wraps that of a text model, having refused it.
bool IsWrapper(ConfigReader& config, const ConfigValue* model_type) {
  for (const absl::string_view wrapper : kWrappers) {
    if (config.Find(wrapper) == nullptr) continue;
    config.Refuse(wrapper,
                  absl::StrCat("makes ", model_type == nullptr ? "it" : Quoted(*model_type),
                               " a multimodal model, which is not supported yet; the text "
                               "model's own config, sent alone, may be"));
    return true;
  }
  return false;
}

// The family of the config; null, having refused a field, where there is none.
const Family* ReadFamily(ConfigReader& config) {
  const ConfigValue* model_type = config.Find("model_type");
  if (IsWrapper(config, model_type)) return nullptr;
  const std::vector<std::string>* architectures = ReadArchitectures(config);
  const Family* family = model_type == nullptr ? FamilyByArchitecture(config, architectures)
                                               : FamilyByModelType(config, *model_type);
  if (family == nullptr || architectures == nullptr) return family;
  for (const std::string& architecture : *architectures) {
    if (architecture == family->architecture) continue;
    config.Refuse("architectures",
                  absl::StrCat("names ", Clip(architecture, 40), ", which may hold others than ",
                               family->architecture, "'s parameters: write ", family->architecture,
                               " if it is that model"));
  }
  return family;
}

void RequireGiven(ConfigReader& config, absl::string_view name, int64_t size) {
  if (size == 0) {
    config.Refuse(name, "is required: what stands for it where it is absent is one model's alone");
  }
}

TransformerSpec ReadSizes(const Family& family, ConfigReader& config) {
  const SizeNames& names = family.names;
  const auto size = [&](absl::string_view name) { return name.empty() ? 0 : config.Size(name); };
  TransformerSpec out = family.shape;
  out.layer_count = size(names.layer_count);
  out.hidden_size = size(names.hidden_size);
  out.feed_forward_size = size(names.feed_forward_size);
  out.attention_head_count = size(names.attention_head_count);
  out.key_value_head_count = size(names.key_value_head_count);
  out.head_size = size(names.head_size);
  out.vocabulary_size = size(names.vocabulary_size);
  out.learned_position_count = size(names.learned_position_count);
  out.embedding_size = size(names.embedding_size);
  if (family.feed_forward_is_four_hidden && out.feed_forward_size == 0) {
    out.feed_forward_size = 4 * out.hidden_size;
  }
  if (family.key_value_head_count_required) {
    RequireGiven(config, names.key_value_head_count, out.key_value_head_count);
  }
  if (family.head_size_required) RequireGiven(config, names.head_size, out.head_size);
  if (!names.learned_position_count.empty()) {
    RequireGiven(config, names.learned_position_count, out.learned_position_count);
  }
  return out;
}

// CheckTransformer() in the config's own words.
void CheckShape(const Family& family, const TransformerSpec& shape, ConfigReader& config) {
  const SizeNames& n = family.names;
  const std::vector<std::pair<absl::string_view, absl::string_view>> words = {
      {"layer_count", n.layer_count},
      {"hidden_size", n.hidden_size},
      {"feed_forward_size", n.feed_forward_size},
      {"attention_head_count", n.attention_head_count},
      {"key_value_head_count", n.key_value_head_count},
      {"; or give head_size", n.head_size.empty() ? "" : "; or give head_dim"},
      {"head_size", n.head_size},
      {"vocabulary_size", n.vocabulary_size},
      {"learned_position_count", n.learned_position_count},
      {"embedding_size", n.embedding_size},
  };
  FieldViolations found;
  CheckTransformer(shape, "", found);
  for (const FieldViolation& violation : found.all()) {
    config.Refuse(absl::StrReplaceAll(violation.field, words),
                  absl::StrReplaceAll(violation.description, words));
  }
}

}  // namespace

absl::StatusOr<HuggingFaceModel> ReadHuggingFaceConfig(absl::string_view text) {
  SEXTANT_ASSIGN_OR_RETURN(const ConfigFields fields, ParseConfigFields(text));
  FieldViolations violations;
  ConfigReader config(fields, violations);
  const Family* family = ReadFamily(config);
  if (family == nullptr) return violations.ToStatus();

  TransformerSpec shape = ReadSizes(*family, config);
  shape.tied_embeddings = config.Flag("tie_word_embeddings", shape.tied_embeddings);
  if (family->read_options != nullptr) family->read_options(config, shape);
  CheckShape(*family, shape, config);
  RefuseCountedFields(config);
  if (config.ok()) RefuseContradictions(config, shape);
  if (config.ok()) {
    violations.AddAll(CountArchitecture(DenseDecoder(shape), kConfigPath).status());
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return HuggingFaceModel{.model_type = family->model_type,
                          .transformer = shape,
                          .ignored_fields = IgnoredFields(config)};
}

}  // namespace sextant
