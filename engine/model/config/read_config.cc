#include "engine/model/config/read_config.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/base/text.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/config/config_reader.h"
#include "engine/model/config/families.h"
#include "engine/model/config/unread_fields.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

constexpr absl::string_view kKnownTowers[] = {"qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"};

// So that no product of these sizes overflows.
constexpr int64_t kMaxTowerSize = 100'000;

// The vision tower of a multimodal model, which is not read with its text model.
class Tower {
 public:
  explicit Tower(const ConfigValue& config) : config_(config) {}

  // 0 where it is missing or no possible size; then the tower is not known.
  int64_t Size(absl::string_view name) {
    const ConfigValue* value = Find(name);
    const bool sound = value != nullptr && value->kind == Kind::kInteger && value->integer >= 1 &&
                       value->integer <= kMaxTowerSize;
    known_ = known_ && sound;
    return sound ? value->integer : 0;
  }

  const ConfigValue* Find(absl::string_view name) const {
    const auto found = std::find_if(config_.elements.begin(), config_.elements.end(),
                                    [name](const ConfigValue& v) { return v.name == name; });
    return found == config_.elements.end() ? nullptr : &*found;
  }

  bool known() const { return known_; }

 private:
  const ConfigValue& config_;
  bool known_ = true;
};

// Source: huggingface/transformers src/transformers/models/qwen3_vl/modeling_qwen3_vl.py. Patches
// with a bias, learned positions, layers of attention and a plain feed-forward with all biases and
// two LayerNorms, and a merger: a norm, and two matrices with biases. Each of
// deepstack_visual_indexes has another merger, whose norm is over the merged patch.
// Parameters of the tower that the field vision_config of `fields` describes; absent where there is
// none, or where it is not of a kind that is known: Qwen3-VL's and Qwen3.5's are.
absl::optional<int64_t> VisionParameters(const ConfigFields& fields) {
  const auto found = fields.find("vision_config");
  if (found == fields.end() || found->second.kind != Kind::kObject) return {};
  Tower tower(found->second);
  const ConfigValue* type = tower.Find("model_type");
  if (type == nullptr || std::find(std::begin(kKnownTowers), std::end(kKnownTowers), type->text) ==
                             std::end(kKnownTowers)) {
    return {};
  }
  const int64_t width = tower.Size("hidden_size");
  const int64_t inner = tower.Size("intermediate_size");
  const int64_t out = tower.Size("out_hidden_size");
  const int64_t side = tower.Size("patch_size");
  const int64_t merge = tower.Size("spatial_merge_size");
  const int64_t patch = tower.Size("in_channels") * tower.Size("temporal_patch_size") * side * side;
  const int64_t layers = tower.Size("depth");
  const int64_t positions = tower.Size("num_position_embeddings");
  if (!tower.known() || patch > 10'000'000 || merge > 100 || layers > 1000) return {};
  const int64_t merged = width * merge * merge;
  const int64_t merger = merged * merged + merged + merged * out + out;
  const int64_t layer = 4 * width * width + 4 * width + 2 * width * inner + inner + 5 * width;
  const ConfigValue* deep = tower.Find("deepstack_visual_indexes");
  const auto mergers =
      static_cast<int64_t>(deep == nullptr ? 0 : std::min<size_t>(deep->element_count, 1000));
  return (patch + 1) * width + positions * width + layers * layer + 2 * width + merger +
         mergers * (2 * merged + merger);
}

using Kind = ConfigValue::Kind;

// The spelling that the config uses; the first where it uses neither. Where it has both, they must
// agree.
absl::string_view SpellingOf(const SizeName& name, ConfigReader& config) {
  if (name.also.empty() || config.Find(name.also) == nullptr) return name.name;
  if (config.Find(name.name) == nullptr) return name.also;
  const int64_t size = config.Size(name.name);
  if (size != config.Size(name.also)) {
    config.Refuse(name.also, absl::StrCat("is not ", name.name, ": remove it, or correct them"));
  }
  return name.name;
}

int64_t Required(const SizeName& name, int64_t most, ConfigReader& config) {
  return config.RequiredSize(SpellingOf(name, config), most);
}

// 0 where the field is absent or the family has none.
int64_t Optional(const SizeName& name, int64_t most, ConfigReader& config) {
  if (name.name.empty()) return 0;
  const absl::string_view spelling = SpellingOf(name, config);
  return config.Find(spelling) == nullptr ? 0 : config.RequiredSize(spelling, most);
}

// Reads a field whose default is one model's number, so it is required.
int64_t Own(const SizeName& name, int64_t most, ConfigReader& config) {
  const int64_t size = Optional(name, most, config);
  if (size == 0) {
    config.Refuse(name.name,
                  "is required: what stands for it where it is absent is one model's alone");
  }
  return size;
}

int64_t ReadFeedForwardSize(const Family& family, int64_t hidden_size, ConfigReader& config) {
  const SizeName& name = family.names.feed_forward_size;
  const bool optional = name.name.empty() || family.feed_forward_of_dense_layers ||
                        family.feed_forward_is_four_hidden;
  if (!optional) return Required(name, kMaxFeedForwardSize, config);
  const int64_t size = Optional(name, kMaxFeedForwardSize, config);
  return size == 0 && family.feed_forward_is_four_hidden ? 4 * hidden_size : size;
}

DecoderDraft ReadSizes(const Family& family, ConfigReader& config) {
  const SizeNames& names = family.names;
  DecoderDraft out;
  out.style = family.style;
  out.layer_count = family.count_layers != nullptr
                        ? family.count_layers(config)
                        : Required(names.layer_count, kMaxLayerCount, config);
  out.hidden_size = Required(names.hidden_size, kMaxHiddenSize, config);
  out.feed_forward_size = ReadFeedForwardSize(family, out.hidden_size, config);
  const auto or_default = [&config](const SizeName& name, int64_t most, int64_t if_absent) {
    const bool absent = if_absent > 0 && config.Find(name.name) == nullptr;
    return absent || name.name.empty() ? if_absent : Required(name, most, config);
  };
  out.head_count = or_default(names.head_count, kMaxHeadCount, family.defaults.head_count);
  const auto size = [&config](const SizeName& name, int64_t most, bool required,
                              int64_t if_absent = 0) {
    const int64_t given =
        required && if_absent == 0 ? Own(name, most, config) : Optional(name, most, config);
    return given == 0 ? if_absent : given;
  };
  out.key_value_head_count =
      size(names.key_value_head_count, kMaxHeadCount, family.key_value_head_count_required,
           family.defaults.key_value_head_count);
  out.head_size =
      size(names.head_size, kMaxHeadSize, family.head_size_required, family.defaults.head_size);
  out.vocabulary_size =
      or_default(names.vocabulary_size, kMaxVocabularySize, family.defaults.vocabulary_size);
  out.learned_position_count = size(names.learned_position_count, kMaxVocabularySize,
                                    !names.learned_position_count.name.empty());
  out.embedding_size = Optional(names.embedding_size, kMaxHiddenSize, config);
  return out;
}

// Heads must divide the sizes that they share.
void CheckHeads(const Family& family, const DecoderDraft& d, ConfigReader& config) {
  if (d.head_count == 0 || d.hidden_size == 0) return;  // reported already
  const SizeNames& names = family.names;
  if (d.key_value_head_count > 0 && d.head_count % d.key_value_head_count != 0) {
    config.Refuse(names.key_value_head_count.name,
                  absl::StrCat("must divide ", names.head_count.name, " (", d.head_count,
                               "), which ", d.key_value_head_count, " does not"));
  }
  if (d.window_attention.has_value() && d.window_attention->key_value_head_count > 0 &&
      d.window_attention->head_count % d.window_attention->key_value_head_count != 0) {
    config.Refuse(names.head_count.name,
                  absl::StrCat("is ", d.window_attention->head_count, " in layers with a window, ",
                               "whose ", d.window_attention->key_value_head_count,
                               " key-value heads have to divide it"));
  }
  if (d.head_size == 0 && d.hidden_size % d.head_count != 0) {
    config.Refuse(names.head_count.name,
                  absl::StrCat("must divide ", names.hidden_size.name, " (", d.hidden_size,
                               "), which ", d.head_count, " does not",
                               names.head_size.name.empty() ? "" : "; or give head_dim"));
  } else if (d.head_size == 0 && d.hidden_size / d.head_count > kMaxHeadSize) {
    config.Refuse(names.head_count.name,
                  absl::StrCat("makes heads of more than ", kMaxHeadSize, ": write more heads"));
  }
}

void RefuseContradictions(const DecoderDraft& draft, ConfigReader& config) {
  const DecoderDraft d = WithDefaults(draft);
  const std::pair<const char*, int64_t> sizes[] = {
      {"num_hidden_layers", d.layer_count},
      {"hidden_size", d.hidden_size},
      {"intermediate_size", d.feed_forward_size},
      {"num_attention_heads", d.head_count},
      {"num_key_value_heads", d.key_value_head_count},
      {"head_dim", d.head_size},
      {"max_position_embeddings", d.learned_position_count},
  };
  for (const auto& [name, size] : sizes) {
    const auto found = config.fields().find(name);
    if (found == config.fields().end() || config.HasRead(name) || size == 0) continue;
    const ConfigValue& value = found->second;
    if (value.kind == Kind::kNull || (value.kind == Kind::kInteger && value.integer == size)) {
      continue;
    }
    config.Refuse(name, absl::StrCat("is ", Quoted(value), ", but this family's other fields make ",
                                     size, " of it: remove it, or correct them"));
  }
}

// Reads the decoder of `family`, which has no read_model. The result is valid only if nothing was
// rejected. Rejects unread fields that name one of its sizes with another value.
ArchitectureSpec ReadDecoder(const Family& family, ConfigReader& config) {
  DecoderDraft draft = ReadSizes(family, config);
  draft.style.tied = config.Flag("tie_word_embeddings", draft.style.tied);
  ReadNamedOptions(family, config, draft);
  if (family.read_options != nullptr) family.read_options(config, draft);
  CheckHeads(family, draft, config);
  if (!config.ok()) return {};
  if (draft.feed_forward_size == 0 && HasDenseLayers(draft)) {
    config.Refuse(family.names.feed_forward_size.name,
                  "is required: layers have a feed-forward without experts");
  }
  RefuseContradictions(draft, config);
  ArchitectureSpec out = ArchitectureOf(draft);
  if (static_cast<int64_t>(out.decoder.layers.size()) > kMaxLayerRuns) {
    config.Refuse(family.names.layer_count.name,
                  absl::StrCat("makes kinds of layers take turns more than ", kMaxLayerRuns,
                               " times: write fewer layers"));
  }
  return out;
}

// Fields of multimodal models that hold their text model's config.
constexpr absl::string_view kWrappers[] = {"text_config", "llm_config", "language_config"};
using Architectures = absl::optional<std::vector<std::string>>;

const Family* FamilyByArchitecture(ConfigReader& config, const Architectures& architectures) {
  if (!architectures.has_value() && config.Has("dim") && config.Has("n_layers")) {
    return FindFamily(kParamsFile);
  }
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

// Other classes of a family have parameters that are not counted here.
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

// The family of the config; null, with a violation, where there is none.
const Family* ReadFamily(ConfigReader& config) {
  const ConfigValue* model_type = config.Find("model_type");
  const Architectures architectures = config.Texts("architectures");
  const Family* family = model_type == nullptr ? FamilyByArchitecture(config, architectures)
                                               : FamilyByModelType(config, *model_type);
  if (family != nullptr && architectures.has_value()) {
    CheckArchitectures(*family, *architectures, config);
  }
  return family;
}

ConfigFields MembersOf(const ConfigValue& object) {
  ConfigFields out;
  for (const ConfigValue& member : object.elements) out.emplace(member.name, member);
  return out;
}

// Moves the fields that may stand for parameters to `out`, or refuses them.
void JudgeUnread(const Family& family, UnreadRule rule, ConfigReader& config,
                 HuggingFaceModel& out) {
  for (const absl::string_view name : family.left_out) {
    const ConfigValue* value = config.Find(name);
    if (value != nullptr && !IsHarmless(name, *value)) out.unread_fields.emplace_back(name);
  }
  UnreadFields unread = SortUnreadFields(config, family.read_model == nullptr);
  out.ignored_fields = std::move(unread.harmless);
  for (const auto& [name, value] : unread.others) {
    if (family.multimodal && IsHarmlessAround(name, *value)) {
      out.ignored_fields.push_back(Clip(name, kMaxQuotedBytes));
    } else if (rule == UnreadRule::kRefuse) {
      config.Refuse(name, WhyNotIgnored(name, *value));
    } else {
      out.unread_fields.push_back(Clip(name, kMaxQuotedBytes));
    }
  }
}

// Reads a model that wraps no other.
absl::StatusOr<HuggingFaceModel> ReadModel(const ConfigFields& fields, absl::string_view path,
                                           UnreadRule rule) {
  FieldViolations violations;
  ConfigReader config(fields, path, violations);
  const Family* family = ReadFamily(config);
  if (family == nullptr) return violations.ToStatus();

  HuggingFaceModel out;
  out.model_type = family->model_type;
  if (family->multimodal) out.wrapper = "the fields at its top";
  out.architecture =
      family->read_model != nullptr ? family->read_model(config) : ReadDecoder(*family, config);
  JudgeUnread(*family, rule, config, out);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  // The readers have already rejected what this rejects, in the config's words.
  SEXTANT_RETURN_IF_ERROR(CountArchitecture(out.architecture, path).status());
  return out;
}

// True where the text model has the field `name`, too, with the same value.
bool SaysTheSame(const ConfigFields& text_model, absl::string_view name, const ConfigValue& value) {
  const auto found = text_model.find(name);
  return found != text_model.end() && found->second.kind == value.kind &&
         Quoted(found->second) == Quoted(value);
}

// Reads the text model in the field `wrapper` of a multimodal model. Tied or not is said by the
// field around it, as transformers takes it: modeling_utils.py, tie_weights().
absl::StatusOr<HuggingFaceModel> ReadWrapped(const ConfigFields& fields, absl::string_view path,
                                             absl::string_view wrapper, UnreadRule rule) {
  constexpr absl::string_view kTied = "tie_word_embeddings";
  ConfigFields text_model = MembersOf(fields.find(wrapper)->second);
  const auto tied = fields.find(kTied);
  if (tied != fields.end()) text_model[std::string(kTied)] = tied->second;
  SEXTANT_ASSIGN_OR_RETURN(HuggingFaceModel out,
                           ReadModel(text_model, FieldPath(path, wrapper), rule));
  out.wrapper = wrapper;
  out.vision_parameters = VisionParameters(fields);
  for (std::string& ignored : out.ignored_fields) ignored = FieldPath(wrapper, ignored);
  for (std::string& unread : out.unread_fields) unread = FieldPath(wrapper, unread);
  FieldViolations violations;
  for (const auto& [name, value] : fields) {
    if (name == wrapper || name == kTied) continue;
    const std::string shown = Clip(name, kMaxQuotedBytes);
    if (IsHarmlessAround(name, value) || SaysTheSame(text_model, name, value)) {
      out.ignored_fields.push_back(shown);
    } else if (rule == UnreadRule::kName) {
      out.unread_fields.push_back(shown);
    } else {
      violations.Add(FieldPath(path, shown), WhyNotIgnored(name, value));
    }
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return out;
}

}  // namespace

absl::StatusOr<HuggingFaceModel> ReadConfig(const ConfigFields& fields, absl::string_view path,
                                            UnreadRule rule) {
  for (const absl::string_view wrapper : kWrappers) {
    const auto text_model = fields.find(wrapper);
    if (text_model == fields.end() || text_model->second.kind != Kind::kObject) continue;
    return ReadWrapped(fields, path, wrapper, rule);
  }
  return ReadModel(fields, path, rule);
}

}  // namespace sextant
