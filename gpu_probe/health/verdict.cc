#include "gpu_probe/health/verdict.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/health/conditions_rule.h"
#include "gpu_probe/health/judge_figures.h"
#include "gpu_probe/health/limit_rule.h"
#include "gpu_probe/health/missing_rule.h"

namespace sextant {
namespace {

constexpr double kSecondsADay = 86400;

// What a device may be compared with, and how much it may not.
struct References {
  std::vector<const MeasuredDevice*> history;  // oldest first
  int unlike_history_count = 0;
  int wrong_history_count = 0;
  std::vector<const MeasuredDevice*> peers;
  int unlike_peer_count = 0;  // the same product, another power limit or core count
  int stale_peer_count = 0;
};

double AgeSeconds(const MeasuredDevice& measured, const JudgeOptions& options) {
  // A clock that is a little ahead makes no negative age.
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
  if (count < kMinimumPeerCount) {
    notes->push_back(absl::StrFormat(
        "%s of the same product, power limit and cores: fewer than %d can't be compared with.",
        Plural(static_cast<int>(count), "peer"), kMinimumPeerCount));
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
    notes->push_back(absl::StrCat("The run was cut short: ", PercentText(coverage),
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
                                      [](const Figure& f) { return BestOf(f).doubt > 0; });
  if (unstable > 0) {
    notes->push_back(absl::StrFormat(
        "%d of %d figures are not stable: they have to be further behind by their own noise.",
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

// Adds to each finding that the device is slow what the device told of its clock and power.
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

// The worst first, and otherwise as found; the device is as bad as its worst finding.
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
    // Whatever else it says is not to be trusted either.
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
  if (references.peers.size() >= kMinimumPeerCount) {
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

}  // namespace sextant
