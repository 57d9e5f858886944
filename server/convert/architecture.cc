#include "server/convert/architecture.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/base/clip.h"
#include "server/convert/enums.h"
#include "server/convert/field_checker.h"
#include "server/convert/layer_kind.h"
#include "server/convert/optional_size.h"

namespace sextant {
namespace {

static_assert(static_cast<int>(OutputHeadKind::kUntied) == v1::OUTPUT_HEAD_UNTIED);

constexpr size_t kMostKindBytes = 40;  // that an error quotes

// Kinds of layers by their names.
using KindNumbers = absl::flat_hash_map<absl::string_view, int>;

// The number of a kind; 0, having said so, where there is none of that name.
int NumberOf(const std::string& kind, const KindNumbers& kinds, const MessagePath& path,
             FieldViolations& violations) {
  const auto found = kinds.find(kind);
  if (found != kinds.end()) return found->second;
  violations.Add(MessagePath(path, "layer_kind").ToString(),
                 absl::StrCat("\"", Clip(kind, kMostKindBytes),
                              "\" names none of layer_kinds: write one of their names"));
  return 0;
}

StackSpec StackFrom(const v1::Architecture::Stack& m, const MessagePath& path,
                    const KindNumbers& kinds, FieldViolations& violations) {
  StackSpec out;
  out.layers.reserve(static_cast<size_t>(m.layers_size()));
  const size_t faults = violations.all().size();
  for (int i = 0; i < m.layers_size(); ++i) {
    const MessagePath run(path, "layers", i);
    out.layers.push_back({.layer_kind = NumberOf(m.layers(i).layer_kind(), kinds, run, violations),
                          .count = m.layers(i).count(),
                          .frozen = m.layers(i).frozen()});
    if (violations.all().size() != faults) break;  // one such name says enough
  }
  out.learned_position_count = m.learned_position_count();
  out.relative_position_bucket_count = m.relative_position_bucket_count();
  out.embedding_norm = m.embedding_norm();
  if (m.has_final_norm()) out.final_norm = m.final_norm();
  return out;
}

EmbeddingSpec EmbeddingFrom(const v1::Architecture::Embedding& m, const MessagePath& path,
                            FieldViolations& violations) {
  const auto size = [&](bool present, int64_t value, absl::string_view name) {
    return SizeOrDefault(
        present, value, [&] { return MessagePath(path, name).ToString(); }, violations);
  };
  return {.vocabulary_size = m.vocabulary_size(),
          .padded_vocabulary_size = size(m.has_padded_vocabulary_size(), m.padded_vocabulary_size(),
                                         "padded_vocabulary_size"),
          .embedding_size = size(m.has_embedding_size(), m.embedding_size(), "embedding_size"),
          .token_type_count = m.token_type_count()};
}

OutputSpec OutputFrom(const v1::Architecture::Output& m, const MessagePath& path,
                      FieldViolations& violations) {
  OutputSpec out;
  if (v1::OutputHead_IsValid(m.head())) {
    out.head = static_cast<OutputHeadKind>(m.head());
  } else {
    violations.Add(MessagePath(path, "head").ToString(), UnknownEnumNumber(m.head()));
  }
  out.head_bias = m.head_bias();
  out.transform = m.transform();
  out.pooler = m.pooler();
  out.pooled_class_count = m.pooled_class_count();
  return out;
}

}  // namespace

ArchitectureSpec ArchitectureFrom(const v1::Architecture& m, absl::string_view path,
                                  FieldViolations& violations) {
  const MessagePath root(path);
  ArchitectureSpec out;
  KindNumbers kinds;
  for (int i = 0; i < m.layer_kinds_size(); ++i) {
    kinds.emplace(m.layer_kinds(i).name(), i);
    out.layer_kinds.push_back(
        LayerKindFrom(m.layer_kinds(i), MessagePath(root, "layer_kinds", i), violations));
  }
  out.hidden_size = m.hidden_size();
  out.norm = NormVariantFrom(m.norm(), root, "norm", violations);
  out.embedding = EmbeddingFrom(m.embedding(), MessagePath(root, "embedding"), violations);
  if (m.has_encoder()) {
    out.encoder = StackFrom(m.encoder(), MessagePath(root, "encoder"), kinds, violations);
  }
  if (m.has_decoder()) {
    out.decoder = StackFrom(m.decoder(), MessagePath(root, "decoder"), kinds, violations);
  }
  out.output = OutputFrom(m.output(), MessagePath(root, "output"), violations);
  if (!m.has_multi_token_prediction()) return out;
  const v1::Architecture::MultiTokenPrediction& ahead = m.multi_token_prediction();
  const MessagePath at(root, "multi_token_prediction");
  out.multi_token_prediction =
      MultiTokenPredictionSpec{.module_count = ahead.module_count(),
                               .layer_kind = NumberOf(ahead.layer_kind(), kinds, at, violations)};
  if (ahead.has_final_norm()) out.multi_token_prediction->final_norm = ahead.final_norm();
  return out;
}

}  // namespace sextant
