#include "server/convert/model_spec.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/text.h"
#include "server/convert/architecture.h"
#include "server/convert/config_text.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

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
