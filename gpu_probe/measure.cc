#include "gpu_probe/measure.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/measure_results.h"
#include "gpu_probe/options.h"
#include "gpu_probe/sampler.h"
#include "gpu_probe/sampling_rounds.h"
#include "gpu_probe/statistics.h"
#include "gpu_probe/time_budget.h"
#include "proto/text/format.h"

namespace sextant::probe {
namespace {

// Share of the time left that is kept, at most, for preparing the first points still to come.
constexpr double kMaxPreparationShare = 0.5;

// Time limits of one visit.
struct Limits {
  VisitQuota quota;
  double first_sample_end_seconds = 0;  // by when the visit's first sample must have ended
  double sampling_seconds = 0;          // for all samples, once the point is prepared
};

class Measurer {
 public:
  Measurer(const ProbePlan& plan, const MeasureOptions& options, Clock& clock,
           const ProgressSink& sink)
      : plan_(plan), options_(options), clock_(clock), sink_(sink) {
    states_.reserve(plan.points.size());
    for (const Point& point : plan.points) states_.push_back({.sampler = {point, clock}});
  }

  absl::StatusOr<Measurement> Run();

 private:
  double Now() const { return clock_.NowSeconds(); }
  double SoftDeadline() const {
    return options_.start_seconds + options_.budget_seconds - options_.ending_seconds;
  }
  // The time by which the first sample of a point must have ended. On a busy host the first figure
  // of each kind may take longer than the budget: better late than missing.
  double FirstSampleDeadline(size_t index) const {
    return plan_.points[index].first && !states_[index].measured()
               ? options_.start_seconds + LastFigureSeconds(options_.budget_seconds)
               : SoftDeadline();
  }
  // FirstSampleDeadline() of one visit. A grid ends with its group, so that all types get samples;
  // points that are visited once end in time for the grids.
  double FirstSampleEnd(const Visit& visit, const Group& group, double group_end_seconds) const {
    if (visit.pass > 0) return group_end_seconds;
    const bool sustained = plan_.points[visit.point].sustained_seconds > 0;
    if (group.first || options_.all_essential || sustained) {
      return FirstSampleDeadline(visit.point);
    }
    return group.pass_count == 1 ? once_end_seconds_ : group_end_seconds;
  }
  bool Fits(double seconds, double end_seconds) const { return Now() + seconds <= end_seconds; }

  // Seconds to prepare a point: as long as the last one of its phase where that took longer than
  // the plan assumed, else the plan's assumption.
  double PreparationSeconds(const Point& point) const;
  // Seconds to prepare the first points after the first of `groups_left`, if they take as long as
  // those before; at most a share of the time left.
  double LaterFirstPointsSeconds(absl::Span<const Group> groups_left) const;
  std::vector<GroupWish> WishesOf(absl::Span<const Group> groups) const;
  // The time by which the first of `groups_left` should have ended.
  double GroupEnd(absl::Span<const Group> groups_left);
  // True where no point of the group was measured and the time is too short for fewest_useful ones.
  bool IsTooLate(const Group& group, double end_seconds) const;
  // True where `next` may use what the first point of `group` made, if that still lives.
  bool Shares(const Group& group, const Group& next) const;
  absl::Status MeasureGroup(const Group& group, double group_end_seconds, uint64_t seed);
  // Gives more samples to points that got few or none, where there is time before
  // `group_end_seconds`.
  absl::Status TopUp(const Group& group, double group_end_seconds);
  absl::Status MeasureVisit(const Visit& visit, const Limits& limits);
  absl::Status TakeSamples(const Visit& visit, const Limits& limits);
  absl::Status TakeSustained(size_t index);

  // Predicts the seconds of a visit of up to `sample_count` samples; absent where not known yet.
  absl::optional<double> CostSeconds(const Visit& visit, size_t sample_count) const;
  // The seconds that the first of `visits_left` may take.
  double SamplingSeconds(absl::Span<const Visit> visits_left, double group_end_seconds,
                         size_t sample_count) const;

  // Prepares a point, where there is time for that and for its first sample.
  absl::Status Start(size_t index, double first_sample_end_seconds);
  // True where there is, judging by the points before.
  bool MayStart(size_t index, double first_sample_end_seconds) const;
  absl::Status Prepare(size_t index);
  void NotePreparation(const Point& point, double seconds);
  absl::Status Report(size_t index) const;
  // The plan's may_go_on(), unless it was called less than kGuardSeconds ago.
  absl::Status CheckMayGoOn();

  const ProbePlan& plan_;
  const MeasureOptions& options_;
  Clock& clock_;
  const ProgressSink& sink_;
  std::vector<PointState> states_;
  BestRates rates_;
  std::map<std::string, double> late_preparations_;  // by phase: latest, where longer than assumed
  double first_preparation_seconds_ = 0;             // of all first points together
  double first_preparation_count_ = 0;
  bool level_begins_ = false;    // with the present group
  double once_end_seconds_ = 0;  // end of points that are visited once; the grids follow
  double done_point_count_ = 0;  // a visit counts as its part of a point
  absl::optional<double> last_guard_seconds_;
};

absl::Status Measurer::Report(size_t index) const {
  const Point& point = plan_.points[index];
  const absl::Span<const double> samples = states_[index].sampler.samples();
  v1::ProbeProgress progress;
  progress.set_phase(point.phase);
  progress.set_fraction(
      std::min(1.0, done_point_count_ / static_cast<double>(plan_.points.size())));
  progress.set_elapsed_seconds(Now() - options_.start_seconds);
  if (!samples.empty()) {
    progress.set_figure(absl::StrCat(
        point.label, ": ", text::Scaled(point.work / Median(samples), point.unit, /*decimals=*/1)));
  }
  return sink_(progress) ? absl::OkStatus() : absl::CancelledError("nobody reads the progress");
}

absl::optional<double> Measurer::CostSeconds(const Visit& visit, size_t sample_count) const {
  const PointState& state = states_[visit.point];
  const double sustained_seconds = plan_.points[visit.point].sustained_seconds;
  if (!state.left_out.ok()) return 0.0;
  if (sustained_seconds > 0) return sustained_seconds;
  if (!state.sampler.prepared()) return absl::nullopt;
  return static_cast<double>(sample_count) * state.sampler.sample_seconds() +
         state.sampler.check_seconds();
}

double Measurer::SamplingSeconds(absl::Span<const Visit> visits_left, double group_end_seconds,
                                 size_t sample_count) const {
  std::vector<absl::optional<double>> costs_seconds;
  costs_seconds.reserve(visits_left.size());
  for (const Visit& visit : visits_left) {
    costs_seconds.push_back(CostSeconds(visit, sample_count));
  }
  return VisitSeconds(costs_seconds, group_end_seconds - Now());
}

absl::Status Measurer::MeasureGroup(const Group& group, double group_end_seconds, uint64_t seed) {
  const std::vector<Visit> visits = VisitsOf(group, plan_.points, seed);
  for (size_t v = 0; v < visits.size(); ++v) {
    const int pass_count = std::max(plan_.points[visits[v].point].pass_count, 1);
    const VisitQuota quota = QuotaOf(pass_count);
    const auto visits_left = absl::MakeConstSpan(visits).subspan(v);
    SEXTANT_RETURN_IF_ERROR(MeasureVisit(
        visits[v],
        {.quota = quota,
         .first_sample_end_seconds = FirstSampleEnd(visits[v], group, group_end_seconds),
         .sampling_seconds = SamplingSeconds(visits_left, group_end_seconds, quota.maximum)}));
    done_point_count_ += 1.0 / pass_count;
  }
  return TopUp(group, group_end_seconds);
}

absl::Status Measurer::TopUp(const Group& group, double group_end_seconds) {
  std::vector<Visit> visits;
  for (const size_t i : group.points) {
    const size_t taken = states_[i].sampler.samples().size();
    if (group.first && plan_.points[i].pass_count > 1) continue;  // its other passes get samples
    if (plan_.points[i].sustained_seconds == 0 && taken < kMinSampleCount) {
      visits.push_back({.point = i, .pass = group.pass_count});
    }
  }
  for (size_t v = 0; v < visits.size(); ++v) {
    const size_t wanted = kMaxSampleCount - states_[visits[v].point].sampler.samples().size();
    const auto visits_left = absl::MakeConstSpan(visits).subspan(v);
    SEXTANT_RETURN_IF_ERROR(MeasureVisit(
        visits[v], {.quota = {.minimum = 0, .maximum = wanted},
                    .first_sample_end_seconds = group_end_seconds,
                    .sampling_seconds = SamplingSeconds(visits_left, group_end_seconds, wanted)}));
  }
  return absl::OkStatus();
}

bool Measurer::MayStart(size_t index, double first_sample_end_seconds) const {
  const Point& point = plan_.points[index];
  const double least_seconds =
      std::max(rates_.LeastSeconds(point).value_or(0), PreparationSeconds(point));
  return Now() < first_sample_end_seconds && Fits(least_seconds, first_sample_end_seconds);
}

absl::Status Measurer::Prepare(size_t index) {
  PointState& state = states_[index];
  const double start_seconds = Now();
  const absl::Status prepared = state.sampler.Prepare();
  if (absl::IsResourceExhausted(prepared) || absl::IsUnimplemented(prepared)) {
    state.left_out = prepared;
    return absl::OkStatus();
  }
  SEXTANT_RETURN_IF_ERROR(prepared);
  NotePreparation(plan_.points[index], Now() - start_seconds);
  rates_.Note(plan_.points[index], state.sampler.sample_seconds() /
                                       static_cast<double>(state.sampler.repetition_count()));
  return absl::OkStatus();
}

void Measurer::NotePreparation(const Point& point, double seconds) {
  if (point.first) {
    first_preparation_seconds_ += seconds;
    ++first_preparation_count_;
    // It included what its phase shares: where the plan has an estimate, that is the better one.
    if (point.assumed_preparation_seconds > 0) return;
  }
  if (seconds > point.assumed_preparation_seconds) {
    late_preparations_[point.phase] = seconds;
  } else {
    late_preparations_.erase(point.phase);
  }
}

absl::Status Measurer::Start(size_t index, double first_sample_end_seconds) {
  const PointState& state = states_[index];
  if (!state.left_out.ok() || state.sampler.prepared()) return absl::OkStatus();
  SEXTANT_RETURN_IF_ERROR(CheckEssentialCanEnd(states_, plan_, options_, rates_, Now()));
  if (!MayStart(index, first_sample_end_seconds)) return absl::OkStatus();
  SEXTANT_RETURN_IF_ERROR(Report(index));
  return Prepare(index);
}

absl::Status Measurer::CheckMayGoOn() {
  if (!plan_.may_go_on) return absl::OkStatus();
  if (last_guard_seconds_ && Now() < *last_guard_seconds_ + kGuardSeconds) return absl::OkStatus();
  const absl::Status answer = plan_.may_go_on();
  last_guard_seconds_ = Now();
  return answer;
}

absl::Status Measurer::MeasureVisit(const Visit& visit, const Limits& limits) {
  SEXTANT_RETURN_IF_ERROR(CheckMayGoOn());
  SEXTANT_RETURN_IF_ERROR(Start(visit.point, limits.first_sample_end_seconds));
  if (!states_[visit.point].sampler.prepared()) return absl::OkStatus();
  if (plan_.points[visit.point].sustained_seconds > 0) return TakeSustained(visit.point);
  return TakeSamples(visit, limits);
}

absl::Status Measurer::TakeSamples(const Visit& visit, const Limits& limits) {
  PointSampler& sampler = states_[visit.point].sampler;
  const double visit_end_seconds = Now() + limits.sampling_seconds;
  size_t taken = 0;
  while (taken < limits.quota.maximum && sampler.samples().size() < kMaxSampleCount) {
    const double end_seconds =
        taken == 0 ? limits.first_sample_end_seconds : std::min(visit_end_seconds, SoftDeadline());
    const double settle_seconds = taken == 0 ? sampler.settle_seconds() : 0;
    if (!Fits(settle_seconds + sampler.sample_seconds() + sampler.check_seconds(), end_seconds)) {
      break;
    }
    if (taken == 0) {
      sampler.Poison();
      SEXTANT_RETURN_IF_ERROR(sampler.Settle());
    }
    SEXTANT_RETURN_IF_ERROR(sampler.TakeSample(visit.pass));
    ++taken;
    SEXTANT_RETURN_IF_ERROR(Report(visit.point));
    if (taken >= limits.quota.minimum && IsNarrow(sampler.samples())) break;
  }
  if (taken == 0) return absl::OkStatus();
  const absl::Span<const double> samples = sampler.samples();
  rates_.Note(plan_.points[visit.point], *std::min_element(samples.begin(), samples.end()));
  return sampler.Check();
}

absl::Status Measurer::TakeSustained(size_t index) {
  PointSampler& sampler = states_[index].sampler;
  const double needed_seconds =
      plan_.points[index].sustained_seconds + sampler.sample_seconds() + sampler.check_seconds();
  if (!Fits(needed_seconds, SoftDeadline())) return absl::OkStatus();
  sampler.Poison();
  absl::Status reported;
  SEXTANT_RETURN_IF_ERROR(
      sampler.TakeSustained([this, index, &reported] { reported.Update(Report(index)); }));
  SEXTANT_RETURN_IF_ERROR(reported);
  return sampler.Check();
}

double Measurer::PreparationSeconds(const Point& point) const {
  const auto late = late_preparations_.find(point.phase);
  return late == late_preparations_.end()
             ? point.assumed_preparation_seconds
             : std::max(late->second, point.assumed_preparation_seconds);
}

double Measurer::LaterFirstPointsSeconds(absl::Span<const Group> groups_left) const {
  double first_count = 0;
  for (const Group& group : groups_left.subspan(1)) first_count += group.first ? 1 : 0;
  if (first_count == 0 || first_preparation_count_ == 0) return 0;
  const double mean_seconds = first_preparation_seconds_ / first_preparation_count_;
  return std::clamp(first_count * mean_seconds, 0.0,
                    kMaxPreparationShare * std::max(0.0, SoftDeadline() - Now()));
}

std::vector<GroupWish> Measurer::WishesOf(absl::Span<const Group> groups) const {
  std::vector<double> costs_seconds;
  for (size_t i = 0; i < states_.size(); ++i) {
    const Point& point = plan_.points[i];
    const double sample_seconds =
        std::max(rates_.LeastSeconds(point).value_or(0), point.minimum_sample_seconds);
    costs_seconds.push_back(states_[i].left_out.ok()
                                ? PreparationSeconds(point) +
                                      static_cast<double>(kMaxSampleCount) * sample_seconds
                                : 0);
  }
  std::vector<GroupWish> wishes;
  for (const Group& group : groups) wishes.push_back(WishOf(group, plan_.points, costs_seconds));
  return wishes;
}

double Measurer::GroupEnd(absl::Span<const Group> groups_left) {
  const std::vector<GroupWish> wishes = WishesOf(groups_left);
  const double level_end_seconds = LevelEndSeconds(wishes, Now(), SoftDeadline());
  const auto of_level = std::count_if(wishes.begin(), wishes.end(), [&](const GroupWish& wish) {
    return wish.level == wishes.front().level;
  });
  const auto level_wishes = absl::MakeConstSpan(wishes).first(static_cast<size_t>(of_level));
  if (level_begins_) once_end_seconds_ = OnceEndSeconds(level_wishes, Now(), level_end_seconds);
  return GroupEndSeconds(level_wishes, Now(),
                         level_end_seconds - LaterFirstPointsSeconds(groups_left));
}

bool Measurer::IsTooLate(const Group& group, double end_seconds) const {
  const double useful_seconds = WishesOf({group}).front().useful_seconds;
  const bool begun = std::any_of(group.points.begin(), group.points.end(),
                                 [&](size_t i) { return states_[i].measured(); });
  return !begun && useful_seconds > 0 && !Fits(useful_seconds, end_seconds);
}

bool Measurer::Shares(const Group& group, const Group& next) const {
  return group.first && !next.first &&
         plan_.points[group.points.front()].phase == plan_.points[next.points.front()].phase;
}

absl::StatusOr<Measurement> Measurer::Run() {
  const std::vector<Group> groups = GroupsOf(plan_.points);
  const auto groups_after = [&](size_t g) { return absl::MakeConstSpan(groups).subspan(g); };
  for (size_t g = 0; g < groups.size(); ++g) {
    // A first point gets a share of the time left after it is prepared, which may take long.
    if (groups[g].first) {
      const size_t index = groups[g].points.front();
      SEXTANT_RETURN_IF_ERROR(Start(index, FirstSampleDeadline(index)));
    }
    level_begins_ = g == 0 || groups[g - 1].first || groups[g - 1].level < groups[g].level;
    const double group_end_seconds = GroupEnd(groups_after(g));
    if (!IsTooLate(groups[g], SoftDeadline())) {
      SEXTANT_RETURN_IF_ERROR(
          MeasureGroup(groups[g], group_end_seconds, options_.shuffle_seed + g));
    }
    if (g + 1 < groups.size() && Shares(groups[g], groups[g + 1])) continue;
    for (PointState& state : states_) state.sampler.Release();
  }
  // Uses the time left by later groups: making workloads may have used up an earlier group's time.
  for (const Group& group : groups) {
    if (IsTooLate(group, SoftDeadline())) continue;
    SEXTANT_RETURN_IF_ERROR(TopUp(group, SoftDeadline()));
    for (PointState& state : states_) state.sampler.Release();
  }
  last_guard_seconds_.reset();
  SEXTANT_RETURN_IF_ERROR(CheckMayGoOn());
  SEXTANT_RETURN_IF_ERROR(CheckEssentialMeasured(states_, plan_, options_));
  done_point_count_ = static_cast<double>(plan_.points.size());
  SEXTANT_RETURN_IF_ERROR(Report(plan_.points.size() - 1));
  Measurement out = ResultsOf(states_, plan_, options_);
  out.calibration.set_duration_seconds(Now() - options_.start_seconds);
  return out;
}

}  // namespace

absl::StatusOr<Measurement> Measure(const ProbePlan& plan, const MeasureOptions& options,
                                    Clock& clock, const ProgressSink& sink) {
  return Measurer(plan, options, clock, sink).Run();
}

}  // namespace sextant::probe
