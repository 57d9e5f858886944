#include "gpu_probe/health/history_rule.h"

#include <cmath>
#include <vector>

#include "gpu_probe/statistics.h"

namespace sextant {
namespace {

// `judged` against the median of the last kHistoryLength of `accepted`.
absl::optional<HistoryReference> AgainstLast(const Figure& judged,
                                             const std::vector<const Figure*>& accepted) {
  std::vector<double> deficits;
  std::vector<double> doubts;
  double judged_doubt = 0;
  for (size_t i = accepted.size(); i-- > 0 && deficits.size() < kHistoryLength;) {
    const absl::optional<RatePair> pair = CompareFigures(judged, *accepted[i]);
    if (!pair.has_value()) continue;
    deficits.push_back(pair->log_deficit);
    doubts.push_back(pair->reference_doubt);
    judged_doubt = pair->judged_doubt;
  }
  if (deficits.empty()) return absl::nullopt;
  return HistoryReference{.log_deficit = Median(deficits),
                          .doubt = judged_doubt + Median(doubts),
                          .count = static_cast<int>(deficits.size())};
}

}  // namespace

absl::optional<HistoryReference> AgainstHistory(const Figure& judged,
                                                absl::Span<const Figure* const> older,
                                                double tolerance) {
  std::vector<const Figure*> accepted;
  for (const Figure* figure : older) {
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

}  // namespace sextant
