#include "engine/model/config/read_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/size_limits.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

// The spelling that the config has; the first where it has none. Where it has both, they have to
// agree.
absl::string_view SpellingOf(const SizeName& name, ConfigReader& config) {
  if (name.also.empty() || config.Find(name.also) == nullptr) return name.name;
  if (config.Find(name.name) == nullptr) return name.also;
  const int64_t size = config.Size(name.name);
  if (size != config.Size(name.also)) {
    config.Refuse(name.also, absl::StrCat("is not ", name.name, ": remove it, or mend them"));
  }
  return name.name;
}

int64_t Required(const SizeName& name, int64_t most, ConfigReader& config) {
  return config.RequiredSize(SpellingOf(name, config), most);
}

// 0 where the field is absent, or the family has none.
int64_t Optional(const SizeName& name, int64_t most, ConfigReader& config) {
  if (name.name.empty() || config.Find(name.name) == nullptr) return 0;
  return config.RequiredSize(name.name, most);
}

// Of a field whose default is a number of one model's.
int64_t Own(const SizeName& name, int64_t most, ConfigReader& config) {
  if (config.Find(name.name) == nullptr) {
    config.Refuse(name.name,
                  "is required: what stands for it where it is absent is one model's alone");
    return 0;
  }
  return config.RequiredSize(name.name, most);
}

int64_t ReadFeedForwardSize(const Family& family, int64_t hidden_size, ConfigReader& config) {
  const SizeName& name = family.names.feed_forward_size;
  if (!family.feed_forward_is_four_hidden) return Required(name, kMaxFeedForwardSize, config);
  const int64_t size = Optional(name, kMaxFeedForwardSize, config);
  return size == 0 ? 4 * hidden_size : size;
}

DecoderDraft ReadSizes(const Family& family, ConfigReader& config) {
  const SizeNames& names = family.names;
  DecoderDraft out;
  out.style = family.style;
  out.layer_count = Required(names.layer_count, kMaxLayerCount, config);
  out.hidden_size = Required(names.hidden_size, kMaxHiddenSize, config);
  out.feed_forward_size = ReadFeedForwardSize(family, out.hidden_size, config);
  out.head_count = Required(names.head_count, kMaxHeadCount, config);
  const auto size = [&config](const SizeName& name, int64_t most, bool required) {
    return required ? Own(name, most, config) : Optional(name, most, config);
  };
  out.key_value_head_count =
      size(names.key_value_head_count, kMaxHeadCount, family.key_value_head_count_required);
  out.head_size = size(names.head_size, kMaxHeadSize, family.head_size_required);
  out.vocabulary_size = Required(names.vocabulary_size, kMaxVocabularySize, config);
  out.learned_position_count = size(names.learned_position_count, kMaxVocabularySize,
                                    !names.learned_position_count.name.empty());
  out.embedding_size = Optional(names.embedding_size, kMaxHiddenSize, config);
  return out;
}

// Heads have to divide what they share.
void CheckHeads(const Family& family, const DecoderDraft& d, ConfigReader& config) {
  if (d.head_count == 0 || d.hidden_size == 0) return;  // reported already
  const SizeNames& names = family.names;
  if (d.key_value_head_count > 0 && d.head_count % d.key_value_head_count != 0) {
    config.Refuse(names.key_value_head_count.name,
                  absl::StrCat("must divide ", names.head_count.name, " (", d.head_count,
                               "), which ", d.key_value_head_count, " does not"));
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
                                     size, " of it: remove it, or mend them"));
  }
}

}  // namespace

ArchitectureSpec ReadDecoder(const Family& family, ConfigReader& config) {
  DecoderDraft draft = ReadSizes(family, config);
  draft.style.tied = config.Flag("tie_word_embeddings", draft.style.tied);
  if (family.read_options != nullptr) family.read_options(config, draft);
  CheckHeads(family, draft, config);
  if (!config.ok()) return {};
  RefuseContradictions(draft, config);
  ArchitectureSpec out = ArchitectureOf(draft);
  if (static_cast<int64_t>(out.decoder.layers.size()) > kMaxLayerRuns) {
    config.Refuse(family.names.layer_count.name,
                  absl::StrCat("makes kinds of layers take turns more than ", kMaxLayerRuns,
                               " times: write fewer layers"));
  }
  return out;
}

}  // namespace sextant
