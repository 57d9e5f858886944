#include "gpu_probe/measure_results.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gpu_probe/options.h"
#include "gpu_probe/statistics.h"
#include "proto/text/format.h"

namespace sextant::probe {
namespace {

// Least runs of a point that was never run: a warm-up and a sample.
constexpr double kMinRunCount = 2;

// Runs of each missing point that the advised budget allows for.
constexpr double kAdvisedRunCount = 3;

std::string Advice(double advised_seconds) {
  if (advised_seconds > kMaxBudgetSeconds) {
    return absl::StrFormat("no --budget up to %.0fs is enough: ask for less", kMaxBudgetSeconds);
  }
  return absl::StrFormat("give --budget=%.0fs", std::ceil(advised_seconds));
}

// False for points that the device can't do: these don't count as planned. Points that the memory
// cap left out do.
bool IsPlanned(const PointState& state) {
  return state.left_out.ok() || absl::IsResourceExhausted(state.left_out);
}

// The median over the points of (third pass's time / first pass's) - 1.
absl::optional<double> DriftRatio(const std::vector<PointState>& states, const ProbePlan& plan) {
  constexpr int kFirstPass = 0;
  constexpr int kThirdPass = 2;
  std::vector<double> ratios;
  for (size_t i = 0; i < states.size(); ++i) {
    if (plan.points[i].pass_count <= kThirdPass) continue;
    const absl::Span<const double> first = states[i].sampler.samples_of(kFirstPass);
    const absl::Span<const double> third = states[i].sampler.samples_of(kThirdPass);
    if (!first.empty() && !third.empty()) ratios.push_back(Median(third) / Median(first));
  }
  if (ratios.empty()) return absl::nullopt;
  return Median(ratios) - 1;
}

using PhaseOfLevel = std::pair<int, std::string>;

// For each point, true where it is recorded. False where too few points of its phase were measured
// to be useful; a note says so.
std::vector<bool> RecordedPoints(const std::vector<PointState>& states, const ProbePlan& plan,
                                 v1::Calibration* out) {
  std::map<PhaseOfLevel, int> counts;
  for (size_t i = 0; i < states.size(); ++i) {
    const Point& point = plan.points[i];
    if (states[i].measured()) ++counts[{point.level, point.phase}];
  }
  std::vector<bool> recorded(states.size());
  std::set<std::string> useless;
  for (size_t i = 0; i < states.size(); ++i) {
    const Point& point = plan.points[i];
    const bool enough =
        !point.useless_alone || counts[{point.level, point.phase}] >= point.fewest_useful;
    recorded[i] = states[i].measured() && enough;
    if (states[i].measured() && !enough) useless.insert(point.phase);
  }
  for (const std::string& phase : useless) {
    out->add_notes(absl::StrCat("So few points of ", phase,
                                " were measured that they are of no use: they are left out."));
  }
  return recorded;
}

v1::TimeStatistics TimeOf(const Point& point, const PointSampler& sampler) {
  v1::TimeStatistics out = Summarise(sampler.samples(), sampler.repetition_count());
  if (!point.spread_of_passes) return out;
  std::vector<double> medians;
  for (int pass = 0; pass < point.pass_count; ++pass) {
    const absl::Span<const double> samples = sampler.samples_of(pass);
    if (!samples.empty()) medians.push_back(Median(samples));
  }
  WidenToWindows(medians, &out);
  return out;
}

void AddCoverage(const std::vector<PointState>& states, const ProbePlan& plan,
                 const std::vector<bool>& recorded, v1::Calibration* out) {
  std::map<std::string, v1::MissingMeasurements> phases;
  double planned_count = 0;
  double recorded_count = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!IsPlanned(states[i])) continue;
    ++planned_count;
    v1::MissingMeasurements& phase = phases[plan.points[i].phase];
    phase.set_planned_count(phase.planned_count() + 1);
    if (recorded[i]) {
      ++recorded_count;
    } else {
      phase.set_missing_count(phase.missing_count() + 1);
    }
  }
  out->set_coverage_ratio(planned_count > 0 ? recorded_count / planned_count : 0);
  for (auto& [name, phase] : phases) {
    if (phase.missing_count() == 0) continue;
    phase.set_phase(name);
    *out->add_missing() = std::move(phase);
  }
}

void AddNotes(const std::vector<PointState>& states, const ProbePlan& plan,
              const MeasureOptions& options, v1::Calibration* out) {
  for (const std::string& note : plan.notes) out->add_notes(note);
  std::set<std::string> said;  // many points may have one reason
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].left_out.ok()) continue;
    const std::string reason(states[i].left_out.message());
    if (said.insert(reason).second) {
      out->add_notes(absl::StrCat(plan.points[i].label, " was left out: ", reason));
    }
  }
  const bool in_time = std::none_of(states.begin(), states.end(),
                                    [](const PointState& state) { return state.open(); });
  if (in_time) return;
  out->add_notes(absl::StrFormat(
      "The budget of %gs was up before all was measured: %s of the points are there; missing are "
      "%s.",
      options.budget_seconds, text::PercentToTenth(out->coverage_ratio()),
      absl::StrJoin(out->missing(), ", ", [](std::string* text, const auto& missing) {
        absl::StrAppend(text, missing.missing_count(), " of ", missing.phase());
      })));
}

}  // namespace

absl::Status CheckEssentialCanEnd(const std::vector<PointState>& states, const ProbePlan& plan,
                                  const MeasureOptions& options, const BestRates& rates,
                                  double now_seconds) {
  if (!options.all_essential) return absl::OkStatus();
  const double elapsed_seconds = now_seconds - options.start_seconds;
  const double left_seconds = std::max(0.0, options.budget_seconds - elapsed_seconds);
  double advised_seconds = elapsed_seconds;
  std::string problem;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i].open()) continue;
    const double run_seconds = rates.LeastSeconds(plan.points[i]).value_or(0);
    advised_seconds += kAdvisedRunCount * run_seconds;
    if (!problem.empty() || kMinRunCount * run_seconds <= left_seconds) continue;
    problem = absl::StrFormat(
        "%s takes at least %s a run at the best rate measured here, and needs two runs; %s of the "
        "budget of %gs are left",
        plan.points[i].label, text::TimeToThreeDigits(run_seconds),
        text::TimeToThreeDigits(left_seconds), options.budget_seconds);
  }
  if (problem.empty()) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrFormat("%s: %s", problem, Advice(advised_seconds)));
}

absl::Status CheckEssentialMeasured(const std::vector<PointState>& states, const ProbePlan& plan,
                                    const MeasureOptions& options) {
  size_t measured_count = 0;
  bool any_first = false;
  absl::Status left_out = absl::UnimplementedError("there is nothing to measure");
  for (size_t i = states.size(); i-- > 0;) {
    if (states[i].measured()) ++measured_count;
    if (!states[i].left_out.ok()) left_out = states[i].left_out;
    any_first |= plan.points[i].first && states[i].left_out.ok();
  }
  for (size_t i = 0; i < states.size(); ++i) {
    const bool essential =
        options.all_essential || plan.points[i].first || (!any_first && measured_count == 0);
    if (!essential || !states[i].open()) continue;
    return absl::DeadlineExceededError(absl::StrFormat(
        "the budget of %gs was up before %s was measured (%d of %d points were): %s",
        options.budget_seconds, plan.points[i].label, measured_count, states.size(),
        Advice(2 * options.budget_seconds)));
  }
  return measured_count > 0 ? absl::OkStatus() : left_out;
}

Measurement ResultsOf(const std::vector<PointState>& states, const ProbePlan& plan,
                      const MeasureOptions& options) {
  Measurement out;
  *out.calibration.mutable_device() = plan.device;
  int64_t checked_count = 0;
  const std::vector<bool> recorded = RecordedPoints(states, plan, &out.calibration);
  for (size_t i = 0; i < states.size(); ++i) {
    const PointSampler& sampler = states[i].sampler;
    checked_count += sampler.checked_count();
    if (out.left_out.ok()) out.left_out = states[i].left_out;
    if (!recorded[i]) continue;
    plan.points[i].record(TimeOf(plan.points[i], sampler), &out.calibration);
  }
  if (plan.finish) plan.finish(&out.calibration);
  out.calibration.set_checked_result_count(checked_count);
  AddCoverage(states, plan, recorded, &out.calibration);
  if (const auto drift = DriftRatio(states, plan); drift.has_value()) {
    out.calibration.set_drift_ratio(*drift);
  }
  AddNotes(states, plan, options, &out.calibration);
  return out;
}

}  // namespace sextant::probe
