#include "gpu_probe/health/judge_figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/figure_text.h"

namespace sextant {
namespace {

// A figure whose noise may account for more than this says neither that the device is slow nor
// that it is not: twice the tolerance of the history.
constexpr double kMostDoubt = 0.10;

// The finding that `figure` is slower than a reference that is `log_deficit` above it.
Finding Slower(const FigureVerdict& figure, double log_deficit, const std::string& than) {
  const double reference = figure.value * std::exp(log_deficit);
  return {.status = HealthStatus::kCritical,
          .figure = figure.name,
          .unit = figure.unit,
          .value = figure.value,
          .reference = reference,
          .ratio = figure.value / reference,
          .message = absl::StrCat(FineRateText(figure.value, figure.unit), " is ",
                                  PercentText(1 - figure.value / reference), " below ",
                                  FineRateText(reference, figure.unit), ", the median of ", than)};
}

bool IsAsFastAsPeers(const FigureVerdict& figure, const HealthLimits& limits) {
  return figure.peers.has_value() &&
         1 - std::exp(-figure.peers->log_deficit) <= limits.peer_tolerance;
}

// The lowest rate that is not yet slower than `reference`.
double AlarmBelow(double value, const HistoryReference& reference, const HealthLimits& limits) {
  return value * std::exp(reference.log_deficit - reference.doubt) * (1 - limits.history_tolerance);
}

double AlarmBelow(double value, const PeerReference& reference, const HealthLimits& limits) {
  const double behind =
      std::max(-std::log1p(-limits.peer_tolerance), limits.peer_z * reference.deviation);
  return value * std::exp(reference.log_deficit - reference.doubt - behind);
}

bool IsClear(double doubt) { return doubt <= kMostDoubt; }

// Whether anything can be said of the figure.
bool JudgeHistory(const HealthLimits& limits, FigureVerdict* figure,
                  std::vector<Finding>* findings) {
  if (!figure->history.has_value()) return false;
  const HistoryReference& history = *figure->history;
  figure->alarm_below = std::max(figure->alarm_below, AlarmBelow(figure->value, history, limits));
  if (!IsSlowerThanHistory(history, limits.history_tolerance)) return IsClear(history.doubt);
  Finding finding =
      Slower(*figure, history.log_deficit, absl::StrFormat("its last %d", history.count));
  finding.rule = "history";
  if (IsAsFastAsPeers(*figure, limits)) {
    finding.status = HealthStatus::kWarning;
    absl::StrAppendFormat(&finding.message, "; its %d peers are as slow, so it is not this device",
                          figure->peers->count);
  }
  findings->push_back(std::move(finding));
  return true;
}

bool JudgePeers(const HealthLimits& limits, FigureVerdict* figure, std::vector<Finding>* findings) {
  if (!figure->peers.has_value()) return false;
  const PeerReference& peers = *figure->peers;
  figure->alarm_below = std::max(figure->alarm_below, AlarmBelow(figure->value, peers, limits));
  if (!IsSlowerThanPeers(peers, limits)) return IsClear(peers.doubt);
  Finding finding = Slower(*figure, peers.log_deficit,
                           absl::StrFormat("%d peers, by %.1f deviations", peers.count, peers.z));
  finding.rule = "peers";
  findings->push_back(std::move(finding));
  return true;
}

void JudgeOverall(const PeerReferences& peers, const HealthLimits& limits, DeviceVerdict* verdict) {
  verdict->overall = peers.overall;
  if (!peers.overall.has_value() || !IsSlowerThanPeers(*peers.overall, limits)) return;
  const double ratio = std::exp(-peers.overall->log_deficit);
  verdict->findings.push_back(
      {.status = HealthStatus::kCritical,
       .rule = "peers",
       .figure = "all figures",
       .unit = "ratio",
       .value = ratio,
       .reference = 1,
       .ratio = ratio,
       .message = absl::StrFormat("are %s below the median of %d peers, by %.1f deviations",
                                  PercentText(1 - ratio), peers.overall->count, peers.overall->z)});
}

void FindNothingJudged(const FigureReferences& references, std::vector<Finding>* findings) {
  const bool alone = references.history.empty() && references.peers.size() < kMinimumPeerCount;
  findings->push_back(
      {.status = HealthStatus::kUnknown,
       .rule = "reference",
       .message = alone ? "was measured, but there is nothing to compare it with"
                        : "was measured, but no figure of it can be compared: none is stable "
                          "enough, or has a counterpart"});
}

}  // namespace

std::vector<FigureVerdict> FiguresWithoutReferences(const std::vector<Figure>& figures) {
  std::vector<FigureVerdict> out;
  for (const Figure& figure : figures) {
    const RatePoint& best = BestOf(figure);
    out.push_back(
        {.name = figure.name, .unit = figure.unit, .value = best.rate, .stable = best.doubt <= 0});
  }
  return out;
}

void JudgeFigures(const FigureReferences& references, DeviceVerdict* verdict) {
  std::vector<const std::vector<Figure>*> peer_figures;
  for (const MeasuredDevice* peer : references.peers) peer_figures.push_back(&peer->figures);
  const PeerReferences peers = AgainstPeers(references.judged, peer_figures);
  JudgeOverall(peers, references.limits, verdict);
  verdict->figures = FiguresWithoutReferences(references.judged);
  bool any_judged = false;
  for (size_t i = 0; i < references.judged.size(); ++i) {
    FigureVerdict& figure = verdict->figures[i];
    std::vector<const Figure*> older;
    for (const MeasuredDevice* measured : references.history) {
      const Figure* const same = FigureNamed(figure.name, measured->figures);
      if (same != nullptr) older.push_back(same);
    }
    figure.history =
        AgainstHistory(references.judged[i], older, references.limits.history_tolerance);
    figure.peers = peers.figures[i];
    any_judged |= JudgeHistory(references.limits, &figure, &verdict->findings);
    any_judged |= JudgePeers(references.limits, &figure, &verdict->findings);
  }
  if (!any_judged) FindNothingJudged(references, &verdict->findings);
}

}  // namespace sextant
