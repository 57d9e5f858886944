#include "server/convert/layout_search.h"

#include <string>

#include "engine/search/published_sizes.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/run_layout.h"

namespace sextant::server {
namespace {

using PrunedPair = OneLater<Pruned::kMemory, v1::PrunedLayouts::Reason_MAX>;

class Options {
 public:
  // `fastest`: of all that were found; null where none may fit.
  Options(int64_t layer_count, const LayoutOption* fastest, const v1::PlanRunRequest& request)
      : layer_count_(layer_count), fastest_(fastest), request_(request) {
    FieldViolations checked;
    given_ = RunLayoutFrom(request.layout(), "layout", checked);
    recompute_ = RecomputePolicyPair::Known(request.training().recompute());
  }

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
  void LayoutTo(const LayoutChoice& choice, v1::LayoutOption* out) const {
    JobChoice chosen = {.layout = given_, .recompute = recompute_};
    ApplyTo(choice, layer_count_, chosen);
    // One rank divides no sequences, whatever the request says.
    if (choice.tensor == 1) chosen.layout.sequence_parallel = given_.sequence_parallel;
    v1::RunLayout& layout = *out->mutable_layout();
    layout = request_.layout();
    ChangedLayoutTo(given_, chosen.layout, &layout);
    if (choice.loss.has_value()) {
      layout.mutable_kernels()->set_attention(
          AttentionKernelPair::To(chosen.layout.kernels.attention));
    }
    out->set_recompute(RecomputePolicyPair::To(chosen.recompute));
  }

  const int64_t layer_count_;
  const LayoutOption* const fastest_;
  const v1::PlanRunRequest& request_;
  RunLayout given_;  // by the request
  RecomputePolicy recompute_ = RecomputePolicy::kNone;
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
