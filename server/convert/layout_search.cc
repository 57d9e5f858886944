#include "server/convert/layout_search.h"

#include <string>

#include "engine/search/published_sizes.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/run_spec.h"

namespace sextant::server {
namespace {

using PrunedPair = OneLater<Pruned::kMemory, v1::PrunedLayouts::Reason_MAX>;

class Options {
 public:
  // `fastest`: of all that were found; null where none may fit.
  Options(int64_t layer_count, const LayoutOption* fastest, const v1::PlanRunRequest& request)
      : layer_count_(layer_count), fastest_(fastest), request_(request) {}

  void To(const LayoutOption& option, v1::LayoutOption* out) {
    LayoutTo(option.choice, out);
    IntervalTo(option.step, out->mutable_step_seconds());
    IntervalTo(option.process, out->mutable_peak_bytes());
    out->set_fit_chance(option.fit_chance);
    for (const UnpublishedSize& each : UnpublishedSizesOf(option.choice)) {
      v1::UnpublishedSize* const size = out->add_unpublished_sizes();
      size->set_field(std::string(each.field));
      size->set_size(each.size);
      size->set_published_most(each.most);
      size->set_source(std::string(each.source));
    }
    if (fastest_ == nullptr) return;
    const double fastest = fastest_->step.expected.value();
    out->set_tie(option.step.expected.value() <= (1 + kTieRatio) * fastest);
  }

 private:
  void LayoutTo(const LayoutChoice& choice, v1::LayoutOption* out) {
    JobChoice chosen;
    chosen.layout.parallel = ParallelSizesFrom(request_.layout().parallel());
    ApplyTo(choice, layer_count_, chosen);
    v1::RunLayout& layout = *out->mutable_layout();
    layout = request_.layout();
    SizesTo(chosen.layout.parallel, *layout.mutable_parallel());
    layout.set_context_parallel_size(choice.context);
    layout.set_micro_batch_size(choice.micro_batch);
    layout.set_schedule(PipelineSchedulePair::To(choice.schedule));
    if (choice.tensor > 1) layout.set_sequence_parallel(choice.sequence_parallel);
    layout.mutable_sharding()->set_zero_stage(ZeroStagePair::To(choice.zero_stage));
    if (choice.shard_group > 0) {
      layout.mutable_sharding()->set_shard_group_size(choice.shard_group);
    }
    if (choice.stays_gathered) layout.mutable_sharding()->set_reshard_after_forward(false);
    if (choice.offload != Offload::kNone) layout.mutable_sharding()->set_offload_optimizer(true);
    if (choice.offload == Offload::kAll) layout.mutable_sharding()->set_offload_parameters(true);
    if (choice.kernels.is_chosen) {
      layout.mutable_kernels()->set_attention(AttentionKernelPair::To(choice.kernels.attention));
      layout.mutable_kernels()->set_loss(LossKindPair::To(choice.kernels.loss));
    }
    RecomputeTo(choice.recompute, out);
  }

  void RecomputeTo(const RecomputeChoice& choice, v1::LayoutOption* out) const {
    const v1::RecomputePolicy given = request_.training().recompute();
    out->set_recompute(choice.full                                 ? v1::RECOMPUTE_POLICY_FULL
                       : choice.attention_core                     ? v1::RECOMPUTE_POLICY_SELECTIVE
                       : given != v1::RECOMPUTE_POLICY_UNSPECIFIED ? given
                                                                   : v1::RECOMPUTE_POLICY_NONE);
    if (choice == RecomputeChoice()) return;
    v1::KernelChoices& kernels = *out->mutable_layout()->mutable_kernels();
    if (choice.layers_per_block > 1) {
      kernels.set_recomputed_layers_per_block(choice.layers_per_block);
    }
    if (choice.norm_outputs) kernels.set_recompute_norm_outputs(true);
    if (choice.activation_function) kernels.set_recompute_activation_function(true);
    if (choice.latent_projections) kernels.set_recompute_latent_up_projections(true);
  }

  static void SizesTo(const ParallelSizes& sizes, v1::ParallelLayout& out) {
    out.set_tensor_parallel_size(*sizes.tensor_parallel_size);
    out.set_pipeline_parallel_size(*sizes.pipeline_parallel_size);
    out.set_virtual_stage_count(*sizes.virtual_stage_count);
    out.set_expert_parallel_size(*sizes.expert_parallel_size);
    if (*sizes.expert_tensor_parallel_size > 0) {
      out.set_expert_tensor_parallel_size(*sizes.expert_tensor_parallel_size);
    }
    if (sizes.layers_per_chunk.empty()) return;
    out.mutable_layers_per_chunk()->Assign(sizes.layers_per_chunk.begin(),
                                           sizes.layers_per_chunk.end());
  }

  const int64_t layer_count_;
  const LayoutOption* const fastest_;
  const v1::PlanRunRequest& request_;
};

}  // namespace

void LayoutSearchTo(const SearchedPlan& searched, const v1::PlanRunRequest& request, bool full,
                    v1::LayoutSearchResult* out) {
  const SearchOutcome& outcome = searched.outcome;
  const LayoutOption* const fastest = outcome.best.empty() ? nullptr : &outcome.best.front();
  Options options(outcome.layer_count, fastest, request);
  options.To(fastest != nullptr ? *fastest : *outcome.smallest, out->mutable_chosen());
  out->set_considered_count(outcome.considered);
  out->set_evaluated_count(outcome.evaluated);
  out->set_exhaustive(outcome.exhaustive);
  out->set_tie_ratio(kTieRatio);
  for (size_t i = 0; i < kPrunedCount; ++i) {
    if (outcome.pruned[i] == 0) continue;
    v1::PrunedLayouts* const pruned = out->add_pruned();
    pruned->set_reason(PrunedPair::To(static_cast<Pruned>(i)));
    pruned->set_count(outcome.pruned[i]);
  }
  if (searched.lower_bound > Seconds(0)) {
    out->set_lower_bound_seconds(searched.lower_bound.value());
  }
  if (!full) return;
  for (size_t i = 1; i < outcome.best.size(); ++i) {
    options.To(outcome.best[i], out->add_alternatives());
  }
  for (const LayoutOption& option : outcome.front) options.To(option, out->add_front());
  for (const ChoiceSensitivity& each : searched.sensitivities) {
    v1::ChoiceSensitivity* const sensitivity = out->add_sensitivities();
    sensitivity->set_rate(StepRatePair::To(each.rate));
    sensitivity->set_slowness(each.slowness);
    sensitivity->set_alternative(static_cast<int32_t>(each.other) - 1);
  }
}

void SearchProgressTo(const SearchProgress& progress, const v1::PlanRunRequest& request,
                      v1::SearchProgress* out) {
  out->set_searched_count(progress.searched);
  out->set_layout_count(progress.to_search);
  if (!progress.best.has_value()) return;
  Options(progress.layer_count, &*progress.best, request).To(*progress.best, out->mutable_best());
}

}  // namespace sextant::server
