#include "gpu_probe/health/verdict.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/text/format.h"

namespace sextant::probe {
namespace {

struct FigureReferences {
  const std::vector<HealthMetric>& judged;
  const std::vector<const MeasuredDevice*>& history;  // oldest first
  const std::vector<const MeasuredDevice*>& peers;
  HealthLimits limits;
};

// A figure whose noise may account for more than this can't be judged: twice the tolerance of the
// history.
constexpr double kMaxDoubt = 0.10;

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

bool IsAsFastAsPeers(const FigureVerdict& figure, const HealthLimits& limits) {
  return figure.peers.has_value() &&
         1 - std::exp(-figure.peers->log_deficit) <= limits.peer_tolerance;
}

// The lowest rate that is not slower than `reference`.
double AlarmBelow(double value, const HistoryReference& reference, const HealthLimits& limits) {
  return value * std::exp(reference.log_deficit - reference.doubt) * (1 - limits.history_tolerance);
}

double AlarmBelow(double value, const PeerReference& reference, const HealthLimits& limits) {
  const double behind =
      std::max(-std::log1p(-limits.peer_tolerance), limits.peer_z * reference.deviation);
  return value * std::exp(reference.log_deficit - reference.doubt - behind);
}

bool IsClear(double doubt) { return doubt <= kMaxDoubt; }

// Returns true where the figure could be judged.
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
                                  text::PercentToTenth(1 - ratio), peers.overall->count,
                                  peers.overall->z)});
}

void FindNothingJudged(const FigureReferences& references, std::vector<Finding>* findings) {
  const bool alone = references.history.empty() && references.peers.size() < kMinPeerCount;
  findings->push_back(
      {.status = HealthStatus::kUnknown,
       .rule = "reference",
       .message = alone ? "was measured, but there is nothing to compare it with"
                        : "was measured, but no figure of it can be compared: none is stable "
                          "enough, or has a counterpart"});
}

// Figures with values alone, where comparing them is useless.
std::vector<FigureVerdict> FiguresWithoutReferences(const std::vector<HealthMetric>& figures) {
  std::vector<FigureVerdict> out;
  for (const HealthMetric& figure : figures) {
    const RatePoint& best = BestOf(figure);
    out.push_back(
        {.name = figure.name, .unit = figure.unit, .value = best.rate, .stable = best.doubt <= 0});
  }
  return out;
}

// Fills the verdict's figures and overall, and adds its findings. Slower than its history is
// CRITICAL, but a WARNING where its peers are equally slow: then the cause is not this device.
// Slower than its peers is CRITICAL. UNKNOWN where no figure could be judged.
void JudgeFigures(const FigureReferences& references, DeviceVerdict* verdict) {
  std::vector<const std::vector<HealthMetric>*> peer_figures;
  for (const MeasuredDevice* peer : references.peers) peer_figures.push_back(&peer->figures);
  const PeerReferences peers = AgainstPeers(references.judged, peer_figures);
  JudgeOverall(peers, references.limits, verdict);
  verdict->figures = FiguresWithoutReferences(references.judged);
  bool any_judged = false;
  for (size_t i = 0; i < references.judged.size(); ++i) {
    FigureVerdict& figure = verdict->figures[i];
    std::vector<const HealthMetric*> older;
    for (const MeasuredDevice* measured : references.history) {
      const HealthMetric* const same = FigureNamed(figure.name, measured->figures);
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

constexpr double kSecondsADay = 86400;

// The measurements that a device may be compared with, and the numbers of those that it may not.
struct References {
  std::vector<const MeasuredDevice*> history;  // oldest first
  int unlike_history_count = 0;
  int wrong_history_count = 0;
  std::vector<const MeasuredDevice*> peers;
  int unlike_peer_count = 0;  // the same product, another power limit or core count
  int stale_peer_count = 0;
};

double AgeSeconds(const MeasuredDevice& measured, const JudgeOptions& options) {
  // A clock that is a little ahead must not give a negative age.
  return std::max(0.0, static_cast<double>(options.now_unix_seconds - measured.unix_seconds()));
}

References ReferencesOf(const KnownDevice& judged, const std::vector<KnownDevice>& devices,
                        const JudgeOptions& options) {
  References out;
  for (const MeasuredDevice& older : judged.older) {
    if (!IsAlike(older.device(), judged.newest.device())) {
      ++out.unlike_history_count;
    } else if (older.beyond_limit) {
      ++out.wrong_history_count;
    } else {
      out.history.push_back(&older);
    }
  }
  for (const KnownDevice& other : devices) {
    const MeasuredDevice& peer = other.newest;
    if (&other == &judged || peer.beyond_limit) continue;
    if (!IsAlike(peer.device(), judged.newest.device())) {
      const bool same = peer.device().product_name() == judged.newest.device().product_name();
      out.unlike_peer_count += same ? 1 : 0;
    } else if (AgeSeconds(peer, options) > options.limits.max_age_seconds) {
      ++out.stale_peer_count;
    } else {
      out.peers.push_back(&peer);
    }
  }
  return out;
}

std::string Plural(int count, const char* one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

void NoteHistory(const References& references, std::vector<std::string>* notes) {
  const auto count = references.history.size();
  if (count == 0) {
    notes->push_back("No earlier measurement of it is there to compare with.");
  } else if (count < kHistoryLength) {
    notes->push_back(
        absl::StrFormat("Its history is short: %d of %d measurements.", count, kHistoryLength));
  }
  if (references.unlike_history_count > 0) {
    notes->push_back(absl::StrCat(Plural(references.unlike_history_count, "earlier measurement"),
                                  " of it at another power limit, or with other cores, left out."));
  }
  if (references.wrong_history_count > 0) {
    notes->push_back(absl::StrCat(Plural(references.wrong_history_count, "earlier measurement"),
                                  " of it with rates above the physical limit left out."));
  }
}

void NotePeers(const References& references, std::vector<std::string>* notes) {
  const size_t count = references.peers.size();
  if (count < kMinPeerCount) {
    notes->push_back(absl::StrFormat(
        "%s of the same product, power limit and cores: fewer than %d can't be compared with.",
        Plural(static_cast<int>(count), "peer"), kMinPeerCount));
  }
  if (references.unlike_peer_count > 0) {
    notes->push_back(absl::StrCat(Plural(references.unlike_peer_count, "device"),
                                  " of its product at another power limit, or with other cores, "
                                  "left out."));
  }
  if (references.stale_peer_count > 0) {
    notes->push_back(absl::StrCat(Plural(references.stale_peer_count, "peer"),
                                  " left out, as measured too long ago."));
  }
}

void NoteMeasurement(const MeasuredDevice& measured, const HealthLimits& limits,
                     std::vector<std::string>* notes) {
  const double coverage = measured.calibration.coverage_ratio();
  if (coverage < 1) {
    notes->push_back(absl::StrCat("The run was cut short: ", text::PercentToTenth(coverage),
                                  " of its points were measured."));
  }
  const std::vector<std::string> unlimited = TypesWithoutLimit(measured.calibration);
  if (!unlimited.empty()) {
    notes->push_back(absl::StrCat("No physical limit is known of its multiplications in ",
                                  absl::StrJoin(unlimited, ", "), "."));
  }
  for (std::string& note : BeyondItsClock(measured.calibration, limits.limit_tolerance)) {
    notes->push_back(std::move(note));
  }
  const auto unstable = std::count_if(measured.figures.begin(), measured.figures.end(),
                                      [](const HealthMetric& f) { return BestOf(f).doubt > 0; });
  if (unstable > 0) {
    notes->push_back(absl::StrFormat(
        "%d of %d figures are not stable: they have to be further below by their own noise.",
        unstable, measured.figures.size()));
  }
}

void FindAge(const DeviceVerdict& verdict, const HealthLimits& limits,
             std::vector<Finding>* findings) {
  if (verdict.age_seconds <= limits.max_age_seconds) return;
  findings->push_back(
      {.status = HealthStatus::kWarning,
       .rule = "age",
       .unit = "s",
       .value = verdict.age_seconds,
       .reference = limits.max_age_seconds,
       .ratio = verdict.age_seconds / limits.max_age_seconds,
       .message = absl::StrFormat("was last measured %.1f days ago, more than %.1f: measure again",
                                  verdict.age_seconds / kSecondsADay,
                                  limits.max_age_seconds / kSecondsADay)});
}

// Adds the device's reported clock and power to each finding that it is slow.
void Explain(const MeasuredDevice& judged, const References& references,
             std::vector<Finding>* findings) {
  for (Finding& finding : *findings) {
    const bool by_history = finding.rule == "history";
    if ((!by_history && finding.rule != "peers") || !GoesByClock(finding.figure)) continue;
    const std::vector<const MeasuredDevice*>& others =
        by_history ? references.history : references.peers;
    for (const std::string& why :
         {LowClockText(judged, others, by_history ? "what it was" : "its peers'"),
          LowPowerText(judged, others, by_history ? "it did" : "its peers")}) {
      if (!why.empty()) absl::StrAppend(&finding.message, "; ", why);
    }
  }
}

void Append(std::vector<Finding> more, std::vector<Finding>* findings) {
  for (Finding& finding : more) findings->push_back(std::move(finding));
}

// Sorts the worst first, otherwise in order of discovery; the device's status is its worst
// finding's.
void SumUp(DeviceVerdict* verdict) {
  std::stable_sort(verdict->findings.begin(), verdict->findings.end(),
                   [](const Finding& a, const Finding& b) {
                     return a.status != b.status && Worse(a.status, b.status) == a.status;
                   });
  verdict->status =
      verdict->findings.empty() ? HealthStatus::kOk : verdict->findings.front().status;
}

DeviceVerdict Judge(const KnownDevice& judged, const References& references,
                    const JudgeOptions& options) {
  const MeasuredDevice& measured = judged.newest;
  DeviceVerdict verdict;
  verdict.device = measured.device();
  verdict.mode = measured.calibration.mode();
  verdict.measured_time = measured.calibration.measured_time();
  verdict.age_seconds = AgeSeconds(measured, options);
  verdict.history_count = static_cast<int>(references.history.size());
  verdict.peer_count = static_cast<int>(references.peers.size());
  NoteMeasurement(measured, options.limits, &verdict.notes);
  verdict.findings = FindBeyondLimit(measured.calibration, options.limits.limit_tolerance);
  if (!verdict.findings.empty()) {
    // Nothing else of this measurement can be trusted.
    verdict.figures = FiguresWithoutReferences(measured.figures);
    SumUp(&verdict);
    return verdict;
  }
  NoteHistory(references, &verdict.notes);
  NotePeers(references, &verdict.notes);
  JudgeFigures({.judged = measured.figures,
                .history = references.history,
                .peers = references.peers,
                .limits = options.limits},
               &verdict);
  Explain(measured, references, &verdict.findings);
  Append(FindThrottling(measured.calibration), &verdict.findings);
  Append(FindMissing(measured, references.history, "its own earlier measurements"),
         &verdict.findings);
  if (references.peers.size() >= kMinPeerCount) {
    Append(FindMissing(measured, references.peers, "its peers"), &verdict.findings);
  }
  FindAge(verdict, options.limits, &verdict.findings);
  SumUp(&verdict);
  return verdict;
}

}  // namespace

std::vector<DeviceVerdict> JudgeDevices(const std::vector<KnownDevice>& devices,
                                        const JudgeOptions& options) {
  std::vector<DeviceVerdict> verdicts;
  for (const KnownDevice& device : devices) {
    const bool wanted =
        options.only_uuid.empty() || options.only_uuid == device.newest.device().uuid();
    if (wanted) verdicts.push_back(Judge(device, ReferencesOf(device, devices, options), options));
  }
  return verdicts;
}

}  // namespace sextant::probe
