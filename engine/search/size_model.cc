#include "engine/search/size_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/model/architecture/checked_model.h"
#include "engine/model/model_spec.h"
#include "engine/run/resolve.h"
#include "engine/search/model_ladder.h"

namespace sextant {
namespace {

// The limits of ModelSpec.parameter_count and TrainingSpec.token_count.
constexpr int64_t kMaxParameters = 1'000'000'000'000'000;
constexpr double kMaxTokens = 1e18;
// Rungs that are tried above the first that does not meet the limits.
constexpr int64_t kNeighbourSizes = 3;
constexpr size_t kMaxRungs = 40;

bool Meets(const SizedRun& run) { return run.misses == SizeLimit::kNone; }

bool IsBare(const ModelSpec& model) {
  return model.preset.empty() && !model.transformer.has_value() &&
         !model.hugging_face_config.has_value() && !model.architecture.has_value();
}

// Tries models of one run.
class ModelSizer {
 public:
  ModelSizer(RunSpec run, absl::optional<double> tokens_per_parameter, CallWork& work)
      : run_(std::move(run)), ratio_(tokens_per_parameter), work_(work) {
    out_.basis = BasisOfRun(run_);
  }

  absl::StatusOr<LargestModel> Bare(FieldViolations found) {
    int64_t most = kMaxParameters;
    if (ratio_.has_value()) {
      most =
          static_cast<int64_t>(std::min(kMaxTokens / *ratio_, static_cast<double>(kMaxParameters)));
    }
    SEXTANT_RETURN_IF_ERROR(ResolveFirst(WithCount(kMinModelParameters), std::move(found)));
    SEXTANT_ASSIGN_OR_RETURN(SizedModel best, TryCount(kMinModelParameters, TryRun));
    if (!Meets(best.sized)) return Missed(std::move(best));
    int64_t large = most + 1;
    SizeLimit limit = SizeLimit::kNone;
    while (best.parameter_count + 1 < large) {
      const int64_t middle = best.parameter_count + (large - best.parameter_count) / 2;
      SEXTANT_ASSIGN_OR_RETURN(SizedModel tried, TryCount(middle, TryCheckedRun));
      if (Meets(tried.sized)) {
        best = std::move(tried);
      } else {
        large = middle;
        limit = tried.sized.misses;
      }
    }
    out_.met = true;
    out_.model = std::move(best);
    out_.limit = limit;
    return std::move(out_);
  }

  absl::StatusOr<LargestModel> OfFamily(FieldViolations found) {
    RunSpec checked = run_;
    if (ratio_.has_value()) checked.training.token_count = 1;
    checked.options.search =
        out_.basis == SizeBasis::kLayouts ? SearchExtent::kBounded : SearchExtent::kNone;
    SEXTANT_RETURN_IF_ERROR(ResolveFirst(std::move(checked), std::move(found)));
    const ModelLadder ladder(*first_.shape.architecture);
    int64_t best = -1;
    int64_t step = 1;
    while (2 * step <= ladder.size()) step *= 2;
    for (; step >= 1; step /= 2) {
      SEXTANT_ASSIGN_OR_RETURN(const bool meets, Reaches(best + step, ladder));
      if (meets) best += step;
    }
    for (int64_t index = best + 1; index <= best + 1 + kNeighbourSizes; ++index) {
      if (tried_.size() >= kMaxRungs) break;
      SEXTANT_ASSIGN_OR_RETURN(const bool meets, Reaches(index, ladder));
      if (meets) best = index;
    }
    return Chosen(ladder);
  }

 private:
  // Checks the request by `run`, whose devices all tries have.
  absl::Status ResolveFirst(RunSpec run, FieldViolations found) {
    first_run_ = std::move(run);
    SEXTANT_ASSIGN_OR_RETURN(first_, Resolve(first_run_, std::move(found), work_));
    known_ = first_.Known({.model = true, .training = true});
    return absl::OkStatus();
  }

  LargestModel Missed(SizedModel nearest) {
    out_.limit = nearest.sized.misses;
    out_.model = std::move(nearest);
    return std::move(out_);
  }

  int64_t TokensOf(int64_t parameters) const {
    if (!ratio_.has_value()) return run_.training.token_count;
    return static_cast<int64_t>(std::ceil(*ratio_ * static_cast<double>(parameters)));
  }

  RunSpec WithCount(int64_t parameters) const {
    RunSpec out = run_;
    out.model.parameter_count = parameters;
    out.training.token_count = TokensOf(parameters);
    return out;
  }

  absl::StatusOr<SizedModel> TryCount(int64_t parameters, decltype(TryRun)& try_run) {
    RunSpec run = WithCount(parameters);
    SizedModel out = {.parameter_count = parameters, .token_count = run.training.token_count};
    SEXTANT_ASSIGN_OR_RETURN(out.sized, try_run(std::move(run), work_, known_));
    return out;
  }

  // True where the model of a rung meets the limits; false beyond the ladder.
  absl::StatusOr<bool> Reaches(int64_t index, const ModelLadder& ladder) {
    if (index >= ladder.size()) return false;
    const auto known = tried_.find(index);
    if (known != tried_.end()) return Meets(known->second.sized);
    SEXTANT_ASSIGN_OR_RETURN(SizedModel tried, TryRung(index, ladder));
    const bool meets = Meets(tried_.emplace(index, std::move(tried)).first->second.sized);
    KeepPlanOfAnswer(index);
    return meets;
  }

  // The largest rung that meets the limits, else the nearest miss.
  int64_t Answer() const {
    const auto largest = std::find_if(tried_.rbegin(), tried_.rend(),
                                      [](const auto& each) { return Meets(each.second.sized); });
    if (largest != tried_.rend()) return largest->first;
    return std::min_element(tried_.begin(), tried_.end(),
                            [](const auto& a, const auto& b) {
                              return IsNearer(a.second.sized, b.second.sized);
                            })
        ->first;
  }

  // Drops the plan of `rung`, which was tried last, or the one that was kept.
  void KeepPlanOfAnswer(int64_t rung) {
    const int64_t answer = Answer();
    for (const int64_t each : {rung, planned_}) {
      if (each >= 0 && each != answer) tried_.at(each).sized.plan.reset();
    }
    planned_ = answer;
  }

  absl::StatusOr<SizedModel> TryRung(int64_t index, const ModelLadder& ladder) {
    SizedModel out = {.width_ratio = ladder.width_ratio(index)};
    const ArchitectureSpec shape = ladder.At(index);
    out.hidden_size = shape.hidden_size;
    out.layer_count = LayerCountOf(shape);
    const auto model = CheckedModel::Of(shape, "model");
    work_.CountModel();
    // Beyond the limits of any model, or of any run.
    out.sized.misses = SizeLimit::kMemory;
    if (!model.ok()) return out;
    out.parameter_count = (*model)->count().all.total;
    if (ratio_.has_value() && *ratio_ * static_cast<double>(out.parameter_count) > kMaxTokens) {
      return out;
    }
    out.token_count = TokensOf(out.parameter_count);
    RunSpec run = run_;
    run.model = {};
    run.model.architecture = shape;
    run.training.token_count = out.token_count;
    KnownParts known = known_;
    known.model = *model;
    SEXTANT_ASSIGN_OR_RETURN(out.sized, TryCheckedRun(std::move(run), work_, known));
    return out;
  }

  LargestModel Chosen(const ModelLadder& ladder) {
    const int64_t best = Answer();
    out_.met = Meets(tried_.at(best).sized);
    out_.model = tried_.at(best);
    out_.shape = ladder.At(best);
    for (auto next = tried_.find(best); next != tried_.end(); ++next) {
      if (out_.met && next->first == best) continue;
      out_.limit = next->second.sized.misses;
      if (out_.limit != SizeLimit::kLayout) break;
    }
    for (auto& [index, model] : tried_) out_.tried.push_back(std::move(model));
    return std::move(out_);
  }

  const RunSpec run_;
  const absl::optional<double> ratio_;
  CallWork& work_;
  RunSpec first_run_;
  ResolvedRun first_;
  KnownParts known_;                     // of first_, in every run that is tried
  std::map<int64_t, SizedModel> tried_;  // by rung
  int64_t planned_ = -1;                 // the rung whose plan is kept
  LargestModel out_;
};

void CheckTokens(const RunSpec& run, absl::optional<double> ratio, FieldViolations& violations) {
  if (!ratio.has_value()) return;
  if (run.training.token_count != 0) {
    violations.Add("tokens_per_parameter",
                   "and training.token_count say the same: give one of them");
  }
}

void CheckModelToSize(const ModelSpec& model, FieldViolations& violations) {
  if (model.parameter_count.has_value()) {
    violations.Add("model.parameter_count",
                   "is what is asked for: leave the model out, or give one whose proportions to "
                   "keep, e.g. a preset");
  }
  if (!IsNone(model.changes)) {
    violations.Add("model.changes", "have no larger model: leave them out");
  }
}

// Without a model, parameters alone are sized: they have no layers to lay out.
bool LacksShape(const RunSpec& run) {
  return IsBare(run.model) && (run.layout.has_value() || run.training.sequence_length.has_value());
}

}  // namespace

absl::StatusOr<LargestModel> FindLargestModel(const RunSpec& run,
                                              absl::optional<double> tokens_per_parameter,
                                              FieldViolations found, CallWork& work) {
  CheckTokens(run, tokens_per_parameter, found);
  const size_t faults = found.found_count();
  CheckModelToSize(run.model, found);
  const bool has_no_model = found.found_count() != faults || LacksShape(run);
  CheckSizedLayout(run, found);
  if (LacksShape(run)) {
    found.Add("model",
              "is required with layout or training.sequence_length: give one whose proportions to "
              "keep, e.g. a preset");
  }
  if (has_no_model) return found.ToStatus();
  // Such a ratio is reported; another stands in for it, so that the rest is checked.
  const bool sound = !found.Mentions("tokens_per_parameter");
  ModelSizer sizer(run, sound ? tokens_per_parameter : absl::optional<double>(1), work);
  return IsBare(run.model) ? sizer.Bare(std::move(found)) : sizer.OfFamily(std::move(found));
}

}  // namespace sextant
