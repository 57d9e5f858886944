#include "engine/model/architecture/count_weights.h"

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/model_weights.h"

namespace sextant {
namespace {

void AddTo(WeightCount& sum, const WeightCount& count) {
  sum.total += count.total;
  sum.active += count.active;
  sum.trainable += count.trainable;
}

LayerKindCount& CountOfKind(const WeightTensor& t, std::vector<LayerKindCount>& kinds) {
  if (kinds.empty() || kinds.back().part != t.part || kinds.back().layer_kind != t.layer_kind) {
    kinds.push_back({.part = t.part, .layer_kind = t.layer_kind, .layers = t.layers});
  }
  return kinds.back();
}

// `size` is rows x columns of `t`. No overflow: each product is at most the tensor's total, which
// the caller has checked.
void Record(const WeightTensor& t, int64_t size, ArchitectureCount& out) {
  const WeightCount count = {.total = size * t.copies * t.layers,
                             .active = size * t.active_copies * t.layers,
                             .trainable = size * t.copies * t.trainable_layers};
  AddTo(out.all, count);
  AddTo(out.by_component[static_cast<size_t>(t.component)], count);
  AddTo(out.by_part[static_cast<size_t>(t.part)], count);
  if (IsEmbedding(t.component)) out.embedding += count.total;
  out.padding += t.padding_rows * t.columns;
  if (t.layer_kind < 0) return;
  LayerKindCount& kind = CountOfKind(t, out.by_layer_kind);
  kind.total_per_layer += size * t.copies;
  kind.active_per_layer += size * t.active_copies;
  AddTo(kind.all_layers, count);
}

}  // namespace

absl::StatusOr<ArchitectureCount> CountWeights(const WeightTensors& tensors,
                                               absl::string_view path) {
  ArchitectureCount out;
  for (const WeightTensor& t : tensors) {
    const CheckedInt total = CheckedInt(t.rows) * t.columns * t.copies * t.layers + out.all.total;
    if (!total.ok() || total.value() > kMaxParameterCount) {
      return InvalidField(path, absl::StrCat("describes more than ", kMaxParameterCount,
                                             " parameters: make its sizes smaller"));
    }
    Record(t, t.rows * t.columns, out);
  }
  return out;
}

absl::StatusOr<ArchitectureCount> CountArchitecture(const ArchitectureSpec& spec,
                                                    absl::string_view path) {
  FieldViolations violations;
  CheckArchitecture(spec, path, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return CountWeights(WeightsOf(spec), path);
}

namespace {

// The parameters that gradients don't train though nothing is frozen: correction biases.
int64_t CorrectionsOf(const ArchitectureSpec& spec) {
  int64_t sum = 0;
  const auto add = [&](int kind, int64_t layers) {
    const LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(kind)];
    if (layer.experts.has_value() && layer.experts->router_correction_bias) {
      sum += RouterSize(*layer.experts) * layers;
    }
  };
  for (const LayerRun& run : spec.decoder.layers) add(run.layer_kind, run.count);
  for (const LayerRun& run : spec.encoder.layers) add(run.layer_kind, run.count);
  if (spec.multi_token_prediction.has_value()) {
    add(spec.multi_token_prediction->layer_kind, spec.multi_token_prediction->module_count);
  }
  return sum;
}

// `spec` with an indexer in each layer that shares one; nullopt where none does.
absl::optional<ArchitectureSpec> WithOwnIndexers(const ArchitectureSpec& spec) {
  absl::optional<ArchitectureSpec> out;
  for (size_t i = 0; i < spec.layer_kinds.size(); ++i) {
    const absl::optional<AttentionSpec>& attention = spec.layer_kinds[i].attention;
    if (!attention.has_value() || !attention->latent.has_value()) continue;
    if (!attention->latent->indexer.value_or(IndexerSpec()).shared) continue;
    if (!out.has_value()) out = spec;
    out->layer_kinds[i].attention->latent->indexer->shared = false;
  }
  return out;
}

}  // namespace

std::vector<PublishedTotal> PublishedTotalsOf(const ArchitectureSpec& spec,
                                              const ArchitectureCount& count) {
  const int64_t all = count.all.total;
  std::vector<PublishedTotal> out = {{"all", "every parameter once", "GLM-4.6", all}};
  if (spec.multi_token_prediction.has_value()) {
    const int64_t table = spec.embedding.vocabulary_size * spec.hidden_size *
                          spec.multi_token_prediction->module_count;
    out.push_back({"main_model", "without multi-token prediction", "DeepSeek-V3's 671B",
                   all - count.of(ModelPart::kMultiTokenPrediction).total});
    out.push_back({"with_copied_embeddings", "and an embedding of each module's own",
                   "LongCat-Flash", all + table});
    out.push_back(
        {"with_copied_heads", "and a head of each module's own", "Step-3.5-Flash", all + table});
    out.push_back({"with_copies", "and an embedding and a head of each module's own",
                   "DeepSeek-R1, GLM-4.5", all + 2 * table});
  }
  if (const int64_t corrections = CorrectionsOf(spec); corrections > 0) {
    out.push_back({"without_corrections", "without the correction biases of routers", "LFM2-8B-A1B",
                   all - corrections});
  }
  if (const auto own = WithOwnIndexers(spec); own.has_value()) {
    const auto counted = CountWeights(WeightsOf(*own), "");
    if (counted.ok()) {
      out.push_back({"with_own_indexers", "and an indexer in each layer that shares one",
                     "GLM-5.2 in GGUF", counted->all.total});
    }
  }
  return out;
}

}  // namespace sextant
