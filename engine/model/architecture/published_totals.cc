#include "engine/model/architecture/published_totals.h"

namespace sextant {
namespace {

// The parameters that gradients don't train though nothing is frozen: correction biases.
int64_t CorrectionsOf(const ArchitectureSpec& spec) {
  int64_t sum = 0;
  const auto add = [&](int kind, int64_t layers) {
    const LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(kind)];
    if (layer.experts.has_value() && layer.experts->router_correction_bias) {
      sum += layer.experts->expert_count * layers;
    }
  };
  for (const LayerRun& run : spec.decoder.layers) add(run.layer_kind, run.count);
  for (const LayerRun& run : spec.encoder.layers) add(run.layer_kind, run.count);
  if (spec.multi_token_prediction.has_value()) {
    add(spec.multi_token_prediction->layer_kind, spec.multi_token_prediction->module_count);
  }
  return sum;
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
  return out;
}

}  // namespace sextant
