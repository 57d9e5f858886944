#include "engine/run/memory_estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/run/run_change.h"

namespace sextant {
namespace {

// The 90th percentile of the standard normal distribution.
constexpr double kNinetiethPercentile = 1.2815515655446004;

// A chance is computed to about 1e-16; an end of the interval counts as its percentile.
constexpr double kRounding = 1e-9;

class ChangeSearch {
 public:
  ChangeSearch(const JobContext& context, const JobChoice& choice, Bytes usable,
               const FitThresholds& thresholds)
      : context_(context),
        choice_(choice),
        usable_(usable),
        thresholds_(thresholds),
        all_(ChangesOf(context, choice)) {}

  FittingChanges Find() {
    for (const RunChange& change : all_) {
      if (!out_.changes.empty() && settled_ == change.setting) continue;
      if (!Try({&change, 1})) continue;
      settled_ = change.setting;
      cheap_ = cheap_ || IsCheap(change);
    }
    const size_t singles = out_.changes.size();
    if (!cheap_) FindPair(singles == 0 ? all_.size() : CheapCount());
    // Puts the pair first: it is cheaper than the singles.
    std::rotate(out_.changes.begin(), out_.changes.begin() + static_cast<ptrdiff_t>(singles),
                out_.changes.end());
    return std::move(out_);
  }

 private:
  // True for a change that needs no more devices and leaves the training run the same.
  static bool IsCheap(const RunChange& change) { return change.setting < RunSetting::kDeviceCount; }
  size_t CheapCount() const {
    return static_cast<size_t>(std::count_if(all_.begin(), all_.end(), IsCheap));
  }

  // Tries pairs of the first `count` changes in the order of the sum of their places; for equal
  // settings, smaller changes first.
  void FindPair(size_t count) {
    const absl::Span<const RunChange> changes = absl::MakeConstSpan(all_).first(count);
    for (int sum = 1; sum < 2 * kRunSettingCount; ++sum) {
      for (const RunChange& first : changes) {
        for (const RunChange& second : changes) {
          const int places = static_cast<int>(first.setting) + static_cast<int>(second.setting);
          if (first.setting >= second.setting || places != sum) continue;
          const RunChange pair[] = {first, second};
          if (Try(pair)) return;
        }
      }
    }
  }

  // Tries the run with `changes`; keeps them and returns true where it fits.
  bool Try(absl::Span<const RunChange> changes) {
    JobChoice choice = choice_;
    FittingChange out;
    for (const RunChange& change : changes) {
      for (ChangedSetting& setting : Apply(change, choice)) {
        out.settings.push_back(std::move(setting));
      }
      const SettingCost cost = CostOf(change);
      out.cost = std::max(out.cost, cost.kind);
      absl::StrAppend(&out.cost_text, out.cost_text.empty() ? "" : "; ", cost.text);
    }
    ++out_.considered;
    const absl::optional<BytesInterval> process = ProcessIfItFits(choice);
    if (!process.has_value()) return false;
    out.process = *process;
    out_.changes.push_back(std::move(out));
    return true;
  }

  // Absent also where the choice is invalid.
  absl::optional<BytesInterval> ProcessIfItFits(const JobChoice& choice) {
    FieldViolations violations;
    MemoryJob job = JobOf(context_, choice, violations);
    if (!violations.empty()) return absl::nullopt;
    const auto model = MemoryModel::Of(context_.spec, std::move(job));
    if (!model.ok()) return absl::nullopt;
    if (HasAFullStage(*model)) return absl::nullopt;
    const auto peak = model->Peak();
    if (!peak.ok()) return absl::nullopt;
    fullest_ = peak->stage;
    if (!Fits(peak->memory)) return absl::nullopt;
    return peak->memory.process;
  }

  // True where the stage that was the fullest under another choice does not fit. The fullest stage
  // of this choice has at least as much, so there is no need to search thousands of stages.
  bool HasAFullStage(const MemoryModel& model) const {
    if (fullest_ < 0 || fullest_ >= model.stage_count()) return false;
    const auto stage = model.Stage(fullest_);
    return stage.ok() && !Fits(*stage);
  }

  bool Fits(const StageMemory& memory) const {
    return VerdictOf(FitChance(memory.process, usable_), thresholds_) == Verdict::kFits;
  }

  const JobContext& context_;
  const JobChoice& choice_;
  const Bytes usable_;
  const FitThresholds thresholds_;
  const std::vector<RunChange> all_;
  absl::optional<RunSetting> settled_ = {};  // setting of the last change found
  bool cheap_ = false;                       // a cheap change was found
  int64_t fullest_ = -1;  // the fullest stage of the last choice whose stages were all computed
  FittingChanges out_;
};

absl::StatusOr<StageEstimate> EstimateStage(const EstimateInput& in, int64_t stage) {
  const MemoryModel& model = in.model;
  StageEstimate out;
  SEXTANT_ASSIGN_OR_RETURN(out.memory,
                           model.Stage(stage, in.include_ledger ? &out.ledger : nullptr));
  for (int64_t chunk = 0; chunk < model.chunk_count(); ++chunk) {
    out.micro_batches_in_flight.push_back(out.memory.InFlightOf(chunk));
  }
  const StageWeights weights = model.weights().Stage(stage);
  out.layer_count = weights.layer_count;
  out.parameter_count = weights.all.total;
  return out;
}

// Where ranks hold two copies of the parameters (DualPipe), a stage holds its opposite's, too.
void AddOpposites(MemoryEstimate& estimate) {
  const std::vector<StageEstimate> own = estimate.stages;
  for (size_t i = 0; i < own.size(); ++i) {
    const StageEstimate& opposite = own[own.size() - 1 - i];
    estimate.stages[i].layer_count += opposite.layer_count;
    estimate.stages[i].parameter_count += opposite.parameter_count;
  }
}

}  // namespace

double FitChance(const BytesInterval& process, Bytes usable) {
  const auto room = static_cast<double>((usable - process.expected).value());
  const Bytes side = room < 0 ? process.expected - process.low : process.high - process.expected;
  if (side <= Bytes(0)) return room < 0 ? 0 : 1;
  const double deviations = kNinetiethPercentile * room / static_cast<double>(side.value());
  return 0.5 * std::erfc(-deviations / std::sqrt(2.0));
}

Verdict VerdictOf(double fit_chance, const FitThresholds& thresholds) {
  if (fit_chance >= thresholds.fits - kRounding) return Verdict::kFits;
  const bool may_fit = fit_chance >= thresholds.does_not_fit - kRounding;
  return may_fit ? Verdict::kTight : Verdict::kDoesNotFit;
}

FittingChanges FindFittingChanges(const JobContext& context, const JobChoice& choice, Bytes usable,
                                  const FitThresholds& thresholds) {
  return ChangeSearch(context, choice, usable, thresholds).Find();
}

absl::StatusOr<MemoryEstimate> EstimateMemory(const EstimateInput& in) {
  MemoryEstimate out;
  const MemoryJob& job = in.model.job();
  out.usable = in.usable;
  out.zero_stage = job.state.sharding.zero_stage;
  out.framework = in.choice.layout.framework.kind;
  out.data_parallel_size = job.state.sharding.data_parallel_size;
  out.micro_batch_count = job.pipeline.micro_batch_count;
  for (const LayerSpec& layer : in.context.spec.layer_kinds) out.layer_kinds.push_back(layer.name);
  int64_t rows = 0;
  for (int64_t stage = 0; stage < in.model.stage_count(); ++stage) {
    SEXTANT_ASSIGN_OR_RETURN(StageEstimate estimate, EstimateStage(in, stage));
    rows += static_cast<int64_t>(estimate.ledger.size());
    if (rows > kMaxLedgerRows) {
      return InvalidField(
          "options.include_ledger",
          absl::StrCat("would list more than ", kMaxLedgerRows, " rows over ",
                       in.model.stage_count(), " stages: leave it out, or plan fewer stages"));
    }
    out.stages.push_back(std::move(estimate));
    if (out.stages.back().memory.total() > out.peak().total()) out.peak_stage = stage;
  }
  if (job.pipeline.schedule == PipelineSchedule::kDualPipe) AddOpposites(out);
  out.fit_chance = FitChance(out.peak().process, in.usable);
  out.verdict = VerdictOf(out.fit_chance, in.thresholds);
  if (out.verdict == Verdict::kFits) return out;
  FittingChanges found = FindFittingChanges(in.context, in.choice, in.usable, in.thresholds);
  out.changes = std::move(found.changes);
  out.changes_considered = found.considered;
  return out;
}

}  // namespace sextant
