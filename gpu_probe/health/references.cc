#include "gpu_probe/health/references.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "gpu_probe/statistics.h"

namespace sextant::probe {
namespace {

// Compares `judged` with the median of the last kHistoryLength of `accepted`.
absl::optional<HistoryReference> AgainstLast(const HealthMetric& judged,
                                             const std::vector<const HealthMetric*>& accepted) {
  std::vector<double> deficits;
  std::vector<double> doubts;
  double judged_doubt = 0;
  bool judged_stable = true;
  size_t stable_count = 0;
  for (size_t i = accepted.size(); i-- > 0 && deficits.size() < kHistoryLength;) {
    const absl::optional<RatePair> pair = CompareFigures(judged, *accepted[i]);
    if (!pair.has_value()) continue;
    deficits.push_back(pair->log_deficit);
    doubts.push_back(pair->reference_doubt);
    judged_doubt = pair->judged_doubt;
    judged_stable &= pair->judged_stable;
    stable_count += pair->reference_stable ? 1 : 0;
  }
  if (deficits.empty()) return absl::nullopt;
  return HistoryReference{.log_deficit = Median(deficits),
                          .doubt = judged_doubt + Median(doubts),
                          .stable = judged_stable && 2 * stable_count > deficits.size(),
                          .count = static_cast<int>(deficits.size())};
}

constexpr double kMadToDeviation = 1.4826;  // docs/probe.md, "Statistics"
constexpr size_t kMinFigureCount = 3;

// The median distance of n normal values from their own median is smaller than that of all normal
// values by this factor, for n = 3 to 9: the mean of 4e6 draws each, to 0.1 % (docs/health.md).
// From n = 10 on, n / (n - 0.8) is within 1 % of it.
constexpr std::array<double, 7> kSmallCountFactors = {1.487, 1.361, 1.217, 1.190,
                                                      1.138, 1.127, 1.101};

// One figure of the judged device, compared with its peers' figures.
struct FigureAmongPeers {
  std::vector<double> deficits;  // ln(peer / judged)
  std::vector<size_t> peers;     // the peer of each
  double median = 0;             // of the deficits
  double doubt = 0;
  bool stable = true;  // the judged one, and most of the peers'
  double spread = 0;   // of the deficits around their median, as a standard deviation
};

double SmallCountFactor(size_t count) {
  const auto n = static_cast<double>(count);
  if (count >= kMinPeerCount + kSmallCountFactors.size()) return n / (n - 0.8);
  return kSmallCountFactors[count - kMinPeerCount];
}

// The standard deviation of `values`, at least kMinPeerCount of them, whose median is `middle`.
double SpreadAround(double middle, const std::vector<double>& values) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return kMadToDeviation * SmallCountFactor(values.size()) * Median(distances);
}

bool IsEnough(const FigureAmongPeers& figure) { return figure.deficits.size() >= kMinPeerCount; }

FigureAmongPeers Among(const HealthMetric& judged,
                       absl::Span<const std::vector<HealthMetric>* const> peers) {
  FigureAmongPeers out;
  std::vector<double> doubts;
  double judged_doubt = 0;
  size_t stable_count = 0;
  for (size_t i = 0; i < peers.size(); ++i) {
    const HealthMetric* const figure = FigureNamed(judged.name, *peers[i]);
    if (figure == nullptr) continue;
    const absl::optional<RatePair> pair = CompareFigures(judged, *figure);
    if (!pair.has_value()) continue;
    out.deficits.push_back(pair->log_deficit);
    out.peers.push_back(i);
    doubts.push_back(pair->reference_doubt);
    judged_doubt = pair->judged_doubt;
    out.stable &= pair->judged_stable;
    stable_count += pair->reference_stable ? 1 : 0;
  }
  if (out.deficits.empty()) return out;
  out.stable &= 2 * stable_count > out.deficits.size();
  out.median = Median(out.deficits);
  out.doubt = judged_doubt + Median(doubts);
  if (IsEnough(out)) out.spread = SpreadAround(out.median, out.deficits);
  return out;
}

// `reference` with its deviation and z, computed from the deviation of one device's figure. The
// median of n normal values has pi / (2 n) of their variance where n is large, and less where it is
// small.
PeerReference WithDeviation(double deviation, PeerReference reference) {
  reference.deviation =
      deviation * std::sqrt(1 + std::numbers::pi / 2 / static_cast<double>(reference.count));
  reference.z = (reference.log_deficit - reference.doubt) / reference.deviation;
  return reference;
}

absl::optional<PeerReference> Overall(const std::vector<FigureAmongPeers>& figures,
                                      size_t peer_count) {
  // Deficits against the peers' median, by figure; the judged device's first.
  std::vector<double> judged;
  std::vector<std::vector<double>> of_peers(peer_count);
  size_t stable_count = 0;
  for (const FigureAmongPeers& figure : figures) {
    if (!IsEnough(figure)) continue;
    judged.push_back(figure.median - figure.doubt);
    stable_count += figure.stable ? 1 : 0;
    for (size_t i = 0; i < figure.peers.size(); ++i) {
      of_peers[figure.peers[i]].push_back(figure.median - figure.deficits[i]);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& deficits : of_peers) {
    if (deficits.size() >= kMinFigureCount) medians.push_back(Median(deficits));
  }
  if (judged.size() < kMinFigureCount || medians.size() < kMinPeerCount) {
    return absl::nullopt;
  }
  const double middle = Median(medians);
  return WithDeviation(std::max(SpreadAround(middle, medians), kOverallNoise),
                       {.log_deficit = Median(judged) - middle,
                        .doubt = 0,  // subtracted figure by figure
                        .stable = 2 * stable_count > judged.size(),
                        .count = static_cast<int>(medians.size())});
}

}  // namespace

absl::optional<HistoryReference> AgainstHistory(const HealthMetric& judged,
                                                absl::Span<const HealthMetric* const> older,
                                                double tolerance) {
  std::vector<const HealthMetric*> accepted;
  for (const HealthMetric* figure : older) {
    const absl::optional<HistoryReference> before = AgainstLast(*figure, accepted);
    const bool slower = before.has_value() && accepted.size() >= kHistoryLength &&
                        IsSlowerThanHistory(*before, tolerance);
    if (!slower) accepted.push_back(figure);
  }
  return AgainstLast(judged, accepted);
}

bool IsSlowerThanHistory(const HistoryReference& reference, double tolerance) {
  return 1 - std::exp(-(reference.log_deficit - reference.doubt)) > tolerance;
}

PeerReferences AgainstPeers(const std::vector<HealthMetric>& judged,
                            absl::Span<const std::vector<HealthMetric>* const> peers) {
  std::vector<FigureAmongPeers> all;
  std::vector<double> spreads;
  for (const HealthMetric& figure : judged) {
    all.push_back(Among(figure, peers));
    if (IsEnough(all.back())) spreads.push_back(all.back().spread);
  }
  PeerReferences out;
  for (const FigureAmongPeers& figure : all) {
    out.figures.emplace_back();
    if (!IsEnough(figure)) continue;
    // A few peers may agree by chance in one figure, but hardly in the median of all figures.
    const double deviation = std::max({figure.spread, Median(spreads), kPeerNoise});
    out.figures.back() =
        WithDeviation(deviation, {.log_deficit = figure.median,
                                  .doubt = figure.doubt,
                                  .stable = figure.stable,
                                  .count = static_cast<int>(figure.deficits.size())});
  }
  out.overall = Overall(all, peers.size());
  return out;
}

bool IsSlowerThanPeers(const PeerReference& reference, const HealthLimits& limits) {
  const double share = 1 - std::exp(-(reference.log_deficit - reference.doubt));
  return share > limits.peer_tolerance && reference.z > limits.peer_z;
}

}  // namespace sextant::probe
