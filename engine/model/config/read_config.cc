#include "engine/model/config/read_config.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/clip.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/config/config_fields.h"
#include "engine/model/config/config_reader.h"
#include "engine/model/config/families.h"
#include "engine/model/config/read_decoder.h"
#include "engine/model/config/unread_fields.h"
#include "engine/model/config/unsupported.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

// Models around a text model: what they say of it is inside.
constexpr absl::string_view kWrappers[] = {"text_config", "llm_config", "language_config"};

using Architectures = absl::optional<std::vector<std::string>>;

const Family* FamilyByArchitecture(ConfigReader& config, const Architectures& architectures) {
  if (!architectures.has_value() || architectures->empty()) {
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

// Of a family, other classes hold others than the parameters that are counted here.
void CheckArchitectures(const Family& family, const std::vector<std::string>& architectures,
                        ConfigReader& config) {
  for (const std::string& architecture : architectures) {
    if (HasArchitecture(family, architecture)) continue;
    config.Refuse("architectures", absl::StrCat("names ", Clip(architecture, kMaxQuotedBytes),
                                                ", which may hold others than ",
                                                family.architecture, "'s parameters: write ",
                                                family.architecture, " if it is that model"));
  }
}

// The family of the config; null, having refused a field, where there is none.
const Family* ReadFamily(ConfigReader& config) {
  const ConfigValue* model_type = config.Find("model_type");
  if (IsWrapper(config, model_type)) return nullptr;
  const Architectures architectures = config.Texts("architectures");
  const Family* family = model_type == nullptr ? FamilyByArchitecture(config, architectures)
                                               : FamilyByModelType(config, *model_type);
  if (family != nullptr && architectures.has_value()) {
    CheckArchitectures(*family, *architectures, config);
  }
  return family;
}

}  // namespace

absl::StatusOr<HuggingFaceModel> ReadConfig(const ConfigFields& fields, absl::string_view path) {
  FieldViolations violations;
  ConfigReader config(fields, path, violations);
  const Family* family = ReadFamily(config);
  if (family == nullptr) return violations.ToStatus();

  HuggingFaceModel out;
  out.model_type = family->model_type;
  out.architecture =
      family->read_model != nullptr ? family->read_model(config) : ReadDecoder(*family, config);
  RefuseCountedFields(config);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  // The readers have refused what it refuses, in the config's words.
  SEXTANT_RETURN_IF_ERROR(CountArchitecture(out.architecture, path).status());
  out.ignored_fields = IgnoredFields(config);
  return out;
}

}  // namespace sextant
