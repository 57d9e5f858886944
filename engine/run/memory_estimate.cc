#include "engine/run/memory_estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/run/layout_fields.h"

namespace sextant {
namespace {

// A chance is computed to about 1e-16; an end of the interval counts as its percentile.
constexpr double kRounding = 1e-9;

int64_t StageDevicesOf(const JobChoice& choice) {
  return choice.device_count / choice.layout.parallel.pipeline_parallel_size.value_or(1);
}

class ChangeSearch {
 public:
  explicit ChangeSearch(const EstimateInput& in)
      : in_(in),
        choice_(in.choice),
        all_(ChangesOf(in.context, in.choice)),
        most_steps_(in.work.steps() + kMaxSearchSteps),
        layouts_(in.choice.layout.parallel.layers_per_chunk, in.work) {
    choice_.layout.parallel.layers_per_chunk.clear();  // layouts_ has them
  }

  // Errors: CallWork's.
  absl::StatusOr<FittingChanges> Find() {
    for (const RunChange& change : all_) {
      if (!out_.changes.empty() && settled_ == change.setting) continue;
      if (Ends()) break;
      if (!Try({&change, 1})) continue;
      settled_ = change.setting;
      cheap_ = cheap_ || IsCheap(change);
    }
    const size_t singles = out_.changes.size();
    if (!cheap_) FindPair(singles == 0 ? all_.size() : CheapCount());
    SEXTANT_RETURN_IF_ERROR(ended_);
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

  // True where no further change is to be tried.
  bool Ends() {
    if (ended_.ok()) ended_ = in_.work.Spend(kStepsAChange);
    if (ended_.ok() && in_.work.steps() > most_steps_) out_.ended_early = true;
    return !ended_.ok() || out_.ended_early;
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
          if (Ends()) return;
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
    if (!FillIfItFits(choice, out)) return false;
    out_.changes.push_back(std::move(out));
    return true;
  }

  // Fills in the memory of `choice`. False where it does not fit or is invalid.
  bool FillIfItFits(const JobChoice& choice, FittingChange& out) {
    // Nothing that offloads fits a host of which no memory is known.
    const bool offloads = choice.layout.sharding.offload_optimizer;
    if (offloads && !in_.limits.server.memory.has_value()) return false;
    FieldViolations violations;
    MemoryJob job = JobOf(in_.context, choice, violations);
    if (!violations.empty()) return false;
    const auto model = in_.model.With(std::move(job), layouts_);
    if (!model.ok()) return false;
    if (HasAFullStage(*model)) return false;
    const auto is_full = [this](const StageMemory& memory) { return !Fits(memory); };
    const auto peak = model->PeakOrFirst(is_full, in_.work);
    if (!peak.ok()) return false;
    fullest_ = peak->stage;
    out.process = peak->memory.process;
    if (!Fits(peak->memory) || !offloads) return Fits(peak->memory);
    const HostServer& server = in_.limits.server;
    const auto host = model->HostNeed(StageDevicesOf(choice), server.device_count, in_.work);
    if (!host.ok()) return false;
    out.host = *host;
    return HostVerdictOf(*host, server, choice.device_count) == Verdict::kFits;
  }

  // True where a stage that was too full under another choice does not fit, so that there is no
  // need to search thousands of stages.
  bool HasAFullStage(const MemoryModel& model) const {
    if (fullest_ < 0 || fullest_ >= model.stage_count()) return false;
    const auto stage = model.Stage(fullest_, nullptr, &in_.work);
    return stage.ok() && !Fits(*stage);
  }

  bool Fits(const StageMemory& memory) const {
    const MemoryLimits& limits = in_.limits;
    return VerdictOf(FitChance(memory.process, limits.usable), limits.thresholds) == Verdict::kFits;
  }

  static constexpr int64_t kStepsAChange = 256;  // to make its job and to check it

  const EstimateInput& in_;
  JobChoice choice_;  // in_.choice, as every change starts from it
  const std::vector<RunChange> all_;
  const int64_t most_steps_;
  LayoutCache layouts_;
  absl::optional<RunSetting> settled_ = {};  // setting of the last change found
  bool cheap_ = false;                       // a cheap change was found
  int64_t fullest_ = -1;  // the fullest stage of the last choice, or the first that didn't fit
  absl::Status ended_;
  FittingChanges out_;
};

StageEstimate StageEstimateOf(const MemoryModel& model, int64_t stage, const StageMemory& memory,
                              LedgerRows rows) {
  StageEstimate out;
  out.memory = memory;
  out.ledger = std::move(rows);
  for (int64_t chunk = 0; chunk < model.chunk_count(); ++chunk) {
    out.micro_batches_in_flight.push_back(out.memory.InFlightOf(chunk));
  }
  out.layer_count = model.weights().placement().LayersOn(stage);
  out.parameter_count = model.weights().CountOn(stage).total;
  return out;
}

absl::Status EstimateStages(const EstimateInput& in, MemoryEstimate& out) {
  int64_t rows = 0;
  const auto add = [&](int64_t stage, const StageMemory& memory, LedgerRows ledger) {
    rows += static_cast<int64_t>(ledger.size());
    if (rows > kMaxLedgerRows) {
      return InvalidField(
          "options.include_ledger",
          absl::StrCat("would list more than ", kMaxLedgerRows, " rows over ",
                       in.model.stage_count(), " stages: leave it out, or plan fewer stages"));
    }
    out.stages.push_back(StageEstimateOf(in.model, stage, memory, std::move(ledger)));
    if (memory.total() > out.peak().total()) out.peak_stage = stage;
    return absl::OkStatus();
  };
  return in.model.ForEachStage(in.include_ledger, in.work, add);
}

HostFit HostFitOf(const EstimateInput& in, const std::vector<StageEstimate>& stages) {
  HostFit out = {.server = in.limits.server};
  FullestServer fullest(out.server.device_count);
  for (const StageEstimate& stage : stages) {
    fullest.Add(StageDevicesOf(in.choice), stage.memory.host);
  }
  out.need = fullest.need();
  out.verdict = HostVerdictOf(out.need, out.server, in.choice.device_count);
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

// The memory of a run under another choice. `spanned`: the run's own interval is to hold both.
class OpenChoices {
 public:
  OpenChoices(const EstimateInput& in, MemoryEstimate& out)
      : in_(in), out_(out), layouts_(in.choice.layout.parallel.layers_per_chunk, in.work) {}

  // Errors: CallWork's.
  absl::Status Add() {
    SEXTANT_RETURN_IF_ERROR(AddLoss());
    SEXTANT_RETURN_IF_ERROR(AddOptimizer());
    return AddAttention();
  }

 private:
  // The code is assumed: the other one that DeepSpeed trains computes its loss otherwise.
  absl::Status AddLoss() {
    const RunLayout& layout = in_.choice.layout;
    const FrameworkSpec& framework = layout.framework;
    if (layout.loss.has_value() || !framework.code_assumed) return absl::OkStatus();
    const LossKind assumed = framework.traits().loss.value;
    const LossKind other = TraitsOf(framework.kind).loss.value;
    JobChoice choice = in_.choice;
    choice.layout.loss = other;
    return Try({std::string(kLossField.path), assumed, other}, in_.context, choice, true);
  }

  // A release whose step copies the second moments.
  absl::Status AddOptimizer() {
    const FrameworkTraits& traits = in_.choice.layout.framework.traits();
    const OptimizerSpec& optimizer = in_.context.optimizer;
    constexpr OptimizerLoop kOther = OptimizerLoop::kForeach;
    if (optimizer.loop.has_value() || optimizer.in_backward ||
        !traits.optimizer_loop_is_open.value || StepCopyShare(optimizer.kind, kOther) == 0) {
      return absl::OkStatus();
    }
    OptimizerSpec changed = optimizer;
    changed.loop = kOther;
    const JobContext context = {in_.context.spec, in_.context.precision, changed,
                                in_.context.generation, in_.context.habits};
    return Try({"training.optimizer.implementation", traits.optimizer_loop.value, kOther}, context,
               in_.choice, true);
  }

  // A kernel that keeps scores in memory.
  absl::Status AddAttention() {
    const ClassHabits& usual = in_.context.habits;
    const bool may_differ =
        usual.evidence != AttentionEvidence::kKnown && usual.attention == AttentionKernel::kFlash;
    if (in_.choice.layout.attention.has_value() || !may_differ) return absl::OkStatus();
    JobChoice choice = in_.choice;
    choice.layout.attention = AttentionKernel::kUnfused;
    return Try({std::string(kAttentionField.path), usual.attention, AttentionKernel::kUnfused},
               in_.context, choice, usual.evidence == AttentionEvidence::kOpen);
  }

  absl::Status Try(ChangedSetting setting, const JobContext& context, const JobChoice& choice,
                   bool spanned) {
    FieldViolations violations;
    MemoryJob job = JobOf(context, choice, violations);
    if (!violations.empty()) return absl::OkStatus();
    const auto model = in_.model.With(std::move(job), layouts_);
    if (!model.ok()) return absl::OkStatus();  // no run makes this choice
    const auto no_end = [](const StageMemory&) { return false; };
    SEXTANT_ASSIGN_OR_RETURN(const auto peak, model->PeakOrFirst(no_end, in_.work));
    const BytesInterval& process = peak.memory.process;
    const auto verdict_of = [this](const BytesInterval& of) {
      return VerdictOf(FitChance(of, out_.usable), in_.limits.thresholds);
    };
    BytesInterval& own = out_.stages[static_cast<size_t>(out_.peak_stage)].memory.process;
    out_.open_choices.push_back({.setting = std::move(setting),
                                 .process = process,
                                 .spanned = spanned,
                                 .decides = verdict_of(process) != verdict_of(own)});
    if (!spanned) return absl::OkStatus();
    own.low = std::min(own.low, process.low);
    own.high = std::max(own.high, process.high);
    return absl::OkStatus();
  }

  const EstimateInput& in_;
  MemoryEstimate& out_;
  LayoutCache layouts_;
};

// True where settings that are not modelled may turn the verdict without them.
bool LeavesOpen(const RunLayout& layout, Verdict verdict) {
  if (layout.unmodelled_settings.empty()) return false;
  const MemoryEffect effect = layout.unmodelled_effect;
  return verdict == Verdict::kFits ? effect != MemoryEffect::kLowers
                                   : effect != MemoryEffect::kRaises;
}

}  // namespace

double FitChance(const BytesInterval& process, Bytes usable) {
  const auto of = [](Bytes bytes) { return static_cast<double>(bytes.value()); };
  return ChanceAtMost({of(process.low), of(process.expected), of(process.high)}, of(usable));
}

Verdict VerdictOf(double fit_chance, const FitThresholds& thresholds) {
  if (fit_chance >= thresholds.fits - kRounding) return Verdict::kFits;
  const bool may_fit = fit_chance >= thresholds.does_not_fit - kRounding;
  return may_fit ? Verdict::kTight : Verdict::kDoesNotFit;
}

absl::StatusOr<FittingChanges> FindFittingChanges(const EstimateInput& in) {
  // Changes offload as much or more: none fits a host of unknown memory.
  const bool offloads = in.choice.layout.sharding.offload_optimizer;
  if (offloads && !in.limits.server.memory.has_value()) return FittingChanges();
  return ChangeSearch(in).Find();
}

absl::StatusOr<MemoryEstimate> EstimateMemory(const EstimateInput& in) {
  MemoryEstimate out;
  const MemoryJob& job = in.model.job();
  out.usable = in.limits.usable;
  out.zero_stage = job.state.sharding.zero_stage;
  out.framework = in.choice.layout.framework.kind;
  out.data_parallel_size = job.state.sharding.data_parallel_size;
  out.micro_batch_count = job.pipeline.micro_batch_count;
  for (const LayerSpec& layer : in.context.spec.layer_kinds) out.layer_kinds.push_back(layer.name);
  SEXTANT_RETURN_IF_ERROR(EstimateStages(in, out));
  if (job.pipeline.schedule == PipelineSchedule::kDualPipe) AddOpposites(out);
  SEXTANT_RETURN_IF_ERROR(OpenChoices(in, out).Add());
  out.fit_chance = FitChance(out.peak().process, out.usable);
  out.host = HostFitOf(in, out.stages);
  out.verdict = std::max(VerdictOf(out.fit_chance, in.limits.thresholds), out.host.verdict);
  out.unmodelled_settings = in.choice.layout.unmodelled_settings;
  if (in.context.recipe != nullptr) out.recipe = in.context.recipe->name;
  out.unmodelled_effect = in.choice.layout.unmodelled_effect;
  const bool fits = out.verdict == Verdict::kFits;
  if (LeavesOpen(in.choice.layout, out.verdict)) out.verdict = Verdict::kTight;
  if (fits) return out;
  SEXTANT_ASSIGN_OR_RETURN(FittingChanges found, FindFittingChanges(in));
  out.changes = std::move(found.changes);
  out.changes_considered = found.considered;
  out.search_ended_early = found.ended_early;
  return out;
}

double ChanceAtMost(const Interval<double>& figure, double limit) {
  const double room = limit - figure.expected;
  const double side = room < 0 ? figure.expected - figure.low : figure.high - figure.expected;
  if (side <= 0) return room < 0 ? 0 : 1;
  return 0.5 * std::erfc(-kNinetiethPercentile * room / side / std::sqrt(2.0));
}

}  // namespace sextant
