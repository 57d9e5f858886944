#include "gpu_probe/health/slow_figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/text/format.h"

namespace sextant::probe {
namespace {

// A figure whose noise may account for more than this can't be judged: twice the tolerance of the
// history.
constexpr double kMaxDoubt = 0.10;

constexpr char kUnstable[] = "it is not stable, so that this may be noise";

// The finding that `figure` is slower than a reference that is higher by `log_deficit`.
Finding Slower(const FigureVerdict& figure, double log_deficit, const std::string& than) {
  const double reference = figure.value * std::exp(log_deficit);
  return {.status = HealthStatus::kCritical,
          .figure = figure.name,
          .unit = figure.unit,
          .value = figure.value,
          .reference = reference,
          .ratio = figure.value / reference,
          .message = absl::StrCat(text::ScaledToFourDigits(figure.value, figure.unit), " is ",
                                  text::PercentToTenth(1 - figure.value / reference), " below ",
                                  text::ScaledToFourDigits(reference, figure.unit),
                                  ", the median of ", than)};
}

void LowerToWarning(absl::string_view why, Finding* finding) {
  finding->status = HealthStatus::kWarning;
  absl::StrAppend(&finding->message, "; ", why);
}

bool IsAsFastAsPeers(const FigureVerdict& figure, const HealthLimits& limits) {
  return figure.peers.has_value() &&
         1 - std::exp(-figure.peers->log_deficit) <= limits.peer_tolerance;
}

// The lowest rate that is not slower than `reference`.
double LowestRate(double value, const HistoryReference& reference, const HealthLimits& limits) {
  return value * std::exp(reference.log_deficit - reference.doubt) * (1 - limits.history_tolerance);
}

double LowestRate(double value, const PeerReference& reference, const HealthLimits& limits) {
  const double behind =
      std::max(-std::log1p(-limits.peer_tolerance), limits.peer_z * reference.deviation);
  return value * std::exp(reference.log_deficit - reference.doubt - behind);
}

void RaiseThresholds(double rate, bool sure, FigureVerdict* figure) {
  figure->warning_below = std::max(figure->warning_below, rate);
  if (sure) figure->critical_below = std::max(figure->critical_below, rate);
}

bool IsClear(double doubt) { return doubt <= kMaxDoubt; }

// Returns true where the figure could be judged.
bool JudgeHistory(const HealthLimits& limits, FigureVerdict* figure,
                  std::vector<Finding>* findings) {
  if (!figure->history.has_value()) return false;
  const HistoryReference& history = *figure->history;
  const bool is_long = history.count >= static_cast<int>(kHistoryLength);
  RaiseThresholds(LowestRate(figure->value, history, limits), is_long && history.stable, figure);
  if (!IsSlowerThanHistory(history, limits.history_tolerance)) return IsClear(history.doubt);
  Finding finding =
      Slower(*figure, history.log_deficit, absl::StrFormat("its last %d", history.count));
  finding.rule = "history";
  if (IsAsFastAsPeers(*figure, limits)) {
    LowerToWarning(
        absl::StrFormat("its %d peers are as slow, so it is not this device", figure->peers->count),
        &finding);
  } else if (!is_long) {
    LowerToWarning(absl::StrFormat("a history of fewer than %d proves nothing", kHistoryLength),
                   &finding);
  } else if (!history.stable) {
    LowerToWarning(kUnstable, &finding);
  }
  findings->push_back(std::move(finding));
  return true;
}

bool JudgePeers(const HealthLimits& limits, FigureVerdict* figure, std::vector<Finding>* findings) {
  if (!figure->peers.has_value()) return false;
  const PeerReference& peers = *figure->peers;
  RaiseThresholds(LowestRate(figure->value, peers, limits), peers.stable, figure);
  if (!IsSlowerThanPeers(peers, limits)) return IsClear(peers.doubt);
  Finding finding = Slower(*figure, peers.log_deficit,
                           absl::StrFormat("%d peers, by %.1f deviations", peers.count, peers.z));
  finding.rule = "peers";
  if (!peers.stable) LowerToWarning(kUnstable, &finding);
  findings->push_back(std::move(finding));
  return true;
}

void JudgeOverall(const PeerReferences& peers, const HealthLimits& limits, FigureVerdicts* out) {
  out->overall = peers.overall;
  if (!peers.overall.has_value() || !IsSlowerThanPeers(*peers.overall, limits)) return;
  const double ratio = std::exp(-peers.overall->log_deficit);
  Finding finding = {.status = HealthStatus::kCritical,
                     .rule = "peers",
                     .figure = kAllFigures,
                     .unit = "ratio",
                     .value = ratio,
                     .reference = 1,
                     .ratio = ratio,
                     .message = absl::StrFormat(
                         "are %s below the median of %d peers, by %.1f deviations",
                         text::PercentToTenth(1 - ratio), peers.overall->count, peers.overall->z)};
  if (!peers.overall->stable) {
    LowerToWarning("half of them are not stable, so that this may be noise", &finding);
  }
  out->findings.push_back(std::move(finding));
}

void FindNothingJudged(const Comparison& comparison, std::vector<Finding>* findings) {
  const bool alone = comparison.history.empty() && comparison.peers.size() < kMinPeerCount;
  findings->push_back(
      {.status = HealthStatus::kUnknown,
       .rule = "reference",
       .message = alone ? "was measured, but there is nothing to compare it with"
                        : "was measured, but no figure of it can be compared: none is stable "
                          "enough, or has a counterpart"});
}

// Adds the device's reported clock and power to each finding that it is slow.
void Explain(const Comparison& comparison, std::vector<Finding>* findings) {
  for (Finding& finding : *findings) {
    const bool by_history = finding.rule == "history";
    if ((!by_history && finding.rule != "peers") || !GoesByClock(finding.figure)) continue;
    const std::vector<const MeasuredDevice*>& others =
        by_history ? comparison.history : comparison.peers;
    for (const std::string& why :
         {LowClockText(comparison.judged, others, by_history ? "what it was" : "its peers'"),
          LowPowerText(comparison.judged, others, by_history ? "it did" : "its peers")}) {
      if (!why.empty()) absl::StrAppend(&finding.message, "; ", why);
    }
  }
}

}  // namespace

std::vector<FigureVerdict> FiguresWithoutReferences(const std::vector<HealthMetric>& figures) {
  std::vector<FigureVerdict> out;
  for (const HealthMetric& figure : figures) {
    const RatePoint& best = BestOf(figure);
    out.push_back(
        {.name = figure.name, .unit = figure.unit, .value = best.rate, .stable = best.stable});
  }
  return out;
}

FigureVerdicts JudgeFigures(const Comparison& comparison) {
  const std::vector<HealthMetric>& judged = comparison.judged.figures;
  const HealthLimits& limits = comparison.limits;
  std::vector<const std::vector<HealthMetric>*> peer_figures;
  for (const MeasuredDevice* peer : comparison.peers) peer_figures.push_back(&peer->figures);
  const PeerReferences peers = AgainstPeers(judged, peer_figures);
  FigureVerdicts out;
  JudgeOverall(peers, limits, &out);
  out.figures = FiguresWithoutReferences(judged);
  bool any_judged = false;
  for (size_t i = 0; i < judged.size(); ++i) {
    FigureVerdict& figure = out.figures[i];
    std::vector<const HealthMetric*> older;
    for (const MeasuredDevice* measured : comparison.history) {
      const HealthMetric* const same = FigureNamed(figure.name, measured->figures);
      if (same != nullptr) older.push_back(same);
    }
    figure.history = AgainstHistory(judged[i], older, limits.history_tolerance);
    figure.peers = peers.figures[i];
    any_judged |= JudgeHistory(limits, &figure, &out.findings);
    any_judged |= JudgePeers(limits, &figure, &out.findings);
  }
  if (!any_judged) FindNothingJudged(comparison, &out.findings);
  Explain(comparison, &out.findings);
  return out;
}

}  // namespace sextant::probe
