#include "engine/run/fitting_changes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/run/run_change.h"

namespace sextant {
namespace {

class ChangeSearch {
 public:
  ChangeSearch(const JobContext& context, const JobChoice& choice, Bytes usable)
      : context_(context), choice_(choice), usable_(usable), all_(ChangesOf(context, choice)) {}

  FittingChanges Find() {
    for (const RunChange& change : all_) {
      if (!out_.changes.empty() && settled_ == change.setting) continue;
      if (!Try({&change, 1})) continue;
      settled_ = change.setting;
      cheap_ = cheap_ || IsCheap(change);
    }
    const size_t singles = out_.changes.size();
    if (!cheap_) FindPair(singles == 0 ? all_.size() : CheapCount());
    // The pair is the cheaper.
    std::rotate(out_.changes.begin(), out_.changes.begin() + static_cast<ptrdiff_t>(singles),
                out_.changes.end());
    return std::move(out_);
  }

 private:
  // What neither takes more devices nor makes another run of it.
  static bool IsCheap(const RunChange& change) { return change.setting < RunSetting::kDeviceCount; }
  size_t CheapCount() const {
    return static_cast<size_t>(std::count_if(all_.begin(), all_.end(), IsCheap));
  }

  // Among the first `count` changes pairs by the sum of their places; of two settings those with
  // the smaller changes first.
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

  // Whether the run fits with `changes`, which are then kept.
  bool Try(absl::Span<const RunChange> changes) {
    JobChoice choice = choice_;
    FittingChange out;
    for (const RunChange& change : changes) {
      for (ChangedSetting& setting : Apply(change, choice)) {
        out.settings.push_back(std::move(setting));
      }
      absl::StrAppend(&out.cost, out.cost.empty() ? "" : "; ", CostOf(change));
    }
    ++out_.considered;
    const absl::optional<BytesInterval> process = ProcessIfItFits(choice);
    if (!process.has_value()) return false;
    out.process = *process;
    out_.changes.push_back(std::move(out));
    return true;
  }

  // Absent, too, where the choice contradicts itself, or the model.
  absl::optional<BytesInterval> ProcessIfItFits(const JobChoice& choice) {
    FieldViolations violations;
    JobSpec job = JobOf(context_, choice, violations);
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

  // Whether the stage that was the fullest of another choice does not fit. The fullest of this one
  // has as much or more, so that nobody need look for it among thousands.
  bool HasAFullStage(const MemoryModel& model) const {
    if (fullest_ < 0 || fullest_ >= model.stage_count()) return false;
    const auto stage = model.Stage(fullest_);
    return stage.ok() && !Fits(*stage);
  }

  bool Fits(const StageMemory& memory) const {
    return VerdictOf(memory.process, usable_) == Verdict::kFits;
  }

  const JobContext& context_;
  const JobChoice& choice_;
  const Bytes usable_;
  const std::vector<RunChange> all_;
  absl::optional<RunSetting> settled_ = {};  // the last setting that a change was found of
  bool cheap_ = false;                       // one of those found is
  int64_t fullest_ = -1;  // the stage of the last choice whose stages were all looked at
  FittingChanges out_;
};

}  // namespace

Verdict VerdictOf(const BytesInterval& process, Bytes usable) {
  if (process.high <= usable) return Verdict::kFits;
  return process.low <= usable ? Verdict::kTight : Verdict::kDoesNotFit;
}

FittingChanges FindFittingChanges(const JobContext& context, const JobChoice& choice,
                                  Bytes usable) {
  return ChangeSearch(context, choice, usable).Find();
}

}  // namespace sextant
