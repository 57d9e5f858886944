#include "gpu_probe/health/verdict.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/text/format.h"

namespace sextant::probe {
namespace {

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
                                      [](const HealthMetric& f) { return !BestOf(f).stable; });
  if (unstable > 0) {
    notes->push_back(absl::StrFormat(
        "%d of %d figures are not stable: they have to be further below by their own noise, and "
        "are a WARNING at most.",
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

// A device's measurements before the judged one, which are judged in turn.
struct Earlier {
  const KnownDevice& device;
  const std::vector<const MeasuredDevice*>& history;  // oldest first
  const std::vector<KnownDevice>& devices;
};

// The other devices' measurements that are nearest in time to an earlier one of the judged device:
// what befell all of them at that time must not be held against one.
std::vector<const MeasuredDevice*> PeersThen(const Earlier& earlier, const MeasuredDevice& then,
                                             const HealthLimits& limits) {
  const auto apart_seconds = [&then](const MeasuredDevice& measured) {
    return std::abs(measured.unix_seconds() - then.unix_seconds());
  };
  std::vector<const MeasuredDevice*> peers;
  for (const KnownDevice& other : earlier.devices) {
    if (&other == &earlier.device) continue;
    const MeasuredDevice* nearest = &other.newest;
    for (const MeasuredDevice& older : other.older) {
      if (apart_seconds(older) < apart_seconds(*nearest)) nearest = &older;
    }
    const bool near = static_cast<double>(apart_seconds(*nearest)) <= limits.max_age_seconds;
    if (near && !nearest->beyond_limit && IsAlike(nearest->device(), then.device())) {
      peers.push_back(nearest);
    }
  }
  return peers;
}

// The findings of the measurement at `index` of the history, as if it were the newest.
std::vector<Finding> FindingsThen(const Earlier& earlier, size_t index,
                                  const HealthLimits& limits) {
  const MeasuredDevice& then = *earlier.history[index];
  return JudgeFigures({.judged = then,
                       .history = {earlier.history.begin(),
                                   earlier.history.begin() + static_cast<ptrdiff_t>(index)},
                       .peers = PeersThen(earlier, then, limits),
                       .limits = limits})
      .findings;
}

bool IsCritical(absl::string_view figure, const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [figure](const Finding& f) {
    return f.figure == figure && f.status == HealthStatus::kCritical;
  });
}

// Lowers to WARNING what was not found in the measurements before as well. Those that lack the
// figure are passed over, e.g. quick runs between full ones.
void RequireInARow(const Earlier& earlier, const HealthLimits& limits,
                   std::vector<Finding>* findings) {
  std::map<size_t, std::vector<Finding>> known;  // by index in the history
  for (Finding& finding : *findings) {
    if (finding.status != HealthStatus::kCritical) continue;
    int in_a_row = 1;
    for (size_t i = earlier.history.size(); i-- > 0 && in_a_row < limits.in_a_row;) {
      if (finding.figure != kAllFigures &&
          FigureNamed(finding.figure, earlier.history[i]->figures) == nullptr) {
        continue;
      }
      if (known.count(i) == 0) known[i] = FindingsThen(earlier, i, limits);
      if (!IsCritical(finding.figure, known[i])) break;
      ++in_a_row;
    }
    if (in_a_row < limits.in_a_row) {
      finding.status = HealthStatus::kWarning;
      absl::StrAppend(&finding.message, "; slow in ", Plural(in_a_row, "measurement"),
                      ", CRITICAL takes ", limits.in_a_row, " in a row: measure again");
    } else if (in_a_row > 1) {
      absl::StrAppendFormat(&finding.message, "; slow in %d measurements in a row", in_a_row);
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

DeviceVerdict Judge(const KnownDevice& judged, const std::vector<KnownDevice>& devices,
                    const JudgeOptions& options) {
  const MeasuredDevice& measured = judged.newest;
  const References references = ReferencesOf(judged, devices, options);
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
  FigureVerdicts judgement = JudgeFigures({.judged = measured,
                                           .history = references.history,
                                           .peers = references.peers,
                                           .limits = options.limits});
  RequireInARow({.device = judged, .history = references.history, .devices = devices},
                options.limits, &judgement.findings);
  verdict.figures = std::move(judgement.figures);
  verdict.overall = judgement.overall;
  Append(std::move(judgement.findings), &verdict.findings);
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
    if (wanted) verdicts.push_back(Judge(device, devices, options));
  }
  return verdicts;
}

}  // namespace sextant::probe
