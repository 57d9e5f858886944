#include "gpu_probe/sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

// A first run this long is a good estimate: its start-up time is negligible. After a shorter one,
// warm runs are timed as well.
constexpr double kLongRunSeconds = 10 * kMinSampleSeconds;

// Runs of one trial; reached only where the clock stands still.
constexpr int64_t kMaxRepetitionCount = int64_t{1} << 40;

// A trial that was too short is followed by one this much longer than needed, so that noise does
// not require a third, but at most by this multiple of the last.
constexpr double kTrialMargin = 1.2;
constexpr double kMaxTrialGrowth = 100;

// The least number of samples in the second half of a sustained run, where a run is shorter than a
// sample.
constexpr double kSustainedSliceCount = 10;

absl::Status ClockStands(const Point& point) {
  return absl::InternalError(
      absl::StrCat(point.label, ": the clock did not advance while it ran: no time to report"));
}

}  // namespace

absl::StatusOr<double> PointSampler::TimeRuns(int64_t repetition_count) {
  const double start = clock_->NowSeconds();
  const absl::Status run = workload_->Run(repetition_count);
  if (!run.ok()) return Named(run);
  const double host_seconds = clock_->NowSeconds() - start;
  const double seconds = workload_->DeviceSeconds().value_or(host_seconds);
  if (!std::isfinite(seconds) || seconds < 0) return ClockStands(*point_);
  return seconds;
}

absl::Status PointSampler::Prepare() {
  absl::StatusOr<std::unique_ptr<Workload>> made = point_->make();
  if (!made.ok()) return absl::IsDataLoss(made.status()) ? Wrong(made.status()) : made.status();
  workload_ = *std::move(made);
  Poison();
  SEXTANT_ASSIGN_OR_RETURN(const double cold_seconds, TimeRuns(1));
  const double check_start = clock_->NowSeconds();
  SEXTANT_RETURN_IF_ERROR(Check());
  check_seconds_ = clock_->NowSeconds() - check_start;
  return ChooseRepetitions(cold_seconds);
}

absl::Status PointSampler::ChooseRepetitions(double cold_seconds) {
  repetition_count_ = 1;
  sample_seconds_ = cold_seconds;
  // A device's clock includes the load of a kernel, which may take longer than a run.
  bool warm = cold_seconds >= kLongRunSeconds && !workload_->DeviceSeconds().has_value();
  const double wanted_seconds = point_->minimum_sample_seconds;
  while (!warm || sample_seconds_ < wanted_seconds) {
    const double growth =
        sample_seconds_ > 0 ? kTrialMargin * wanted_seconds / sample_seconds_ : kMaxTrialGrowth;
    repetition_count_ = static_cast<int64_t>(
        std::ceil(static_cast<double>(repetition_count_) * std::min(growth, kMaxTrialGrowth)));
    repetition_count_ = std::max<int64_t>(repetition_count_, 1);
    if (repetition_count_ > kMaxRepetitionCount) return ClockStands(*point_);
    // The shorter of two trials: an interrupted one would give too few runs.
    SEXTANT_ASSIGN_OR_RETURN(const double one_seconds, TimeRuns(repetition_count_));
    SEXTANT_ASSIGN_OR_RETURN(const double other_seconds, TimeRuns(repetition_count_));
    sample_seconds_ = std::min(one_seconds, other_seconds);
    warm = true;
  }
  return absl::OkStatus();
}

double PointSampler::settle_seconds() const {
  return sample_seconds_ < kLongRunSeconds ? sample_seconds_ : 0;
}

absl::Status PointSampler::Settle() {
  if (settle_seconds() == 0) return absl::OkStatus();
  return TimeRuns(repetition_count_).status();
}

absl::Status PointSampler::TakeSample(int pass) {
  SEXTANT_ASSIGN_OR_RETURN(const double seconds, TimeRuns(repetition_count_));
  if (seconds == 0) return ClockStands(*point_);
  sample_seconds_ = seconds;
  samples_.push_back(seconds / static_cast<double>(repetition_count_));
  passes_.push_back(pass);
  return absl::OkStatus();
}

absl::Status PointSampler::TakeSustained(const std::function<void()>& between) {
  const double slice_seconds = point_->sustained_seconds / (2 * kSustainedSliceCount);
  const double slices = std::floor(slice_seconds / sample_seconds_);
  repetition_count_ *= std::max<int64_t>(static_cast<int64_t>(slices), 1);
  const auto tell = [this](SustainedEvent event) {
    return point_->on_sustained ? Named(point_->on_sustained(event)) : absl::OkStatus();
  };
  SEXTANT_RETURN_IF_ERROR(tell(SustainedEvent::kBegins));
  const double start = clock_->NowSeconds();
  double elapsed = 0;
  while (elapsed < point_->sustained_seconds || samples_.empty()) {
    const bool counts = elapsed >= point_->sustained_seconds / 2;
    if (counts) {
      if (samples_.empty()) SEXTANT_RETURN_IF_ERROR(tell(SustainedEvent::kCounts));
      SEXTANT_RETURN_IF_ERROR(TakeSample(/*pass=*/0));
    } else {
      SEXTANT_ASSIGN_OR_RETURN(const double seconds, TimeRuns(repetition_count_));
      if (seconds == 0) return ClockStands(*point_);
    }
    between();
    elapsed = clock_->NowSeconds() - start;
  }
  return tell(SustainedEvent::kEnds);
}

absl::Status PointSampler::Check() {
  ++checked_count_;
  return Wrong(workload_->Check());
}

absl::Status PointSampler::Wrong(const absl::Status& checked) const {
  if (checked.ok()) return checked;
  // A device error during the check is not a wrong result, and has a message of its own.
  if (!absl::IsDataLoss(checked) || !MetadataOf(checked).empty()) return Named(checked);
  const std::vector<std::string> words = absl::StrSplit(point_->phase, ' ');
  return WithMetadata(Named(checked), "check", words.front());
}

absl::Status PointSampler::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  absl::Status out(status.code(), absl::StrCat(point_->label, ": ", status.message()));
  for (const auto& [key, value] : MetadataOf(status)) out = WithMetadata(out, key, value);
  return out;
}

absl::Span<const double> PointSampler::samples_of(int pass) const {
  const auto range = std::equal_range(passes_.begin(), passes_.end(), pass);
  return absl::MakeSpan(samples_).subspan(static_cast<size_t>(range.first - passes_.begin()),
                                          static_cast<size_t>(range.second - range.first));
}

}  // namespace sextant::probe
