#include "gpu_probe/health/missing_rule.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/enum_text.h"

namespace sextant {
namespace {

// By how much a mode measures.
int Thoroughness(v1::ProbeMode mode) {
  switch (mode) {
    case v1::PROBE_MODE_QUICK:
      return 0;
    case v1::PROBE_MODE_FULL:
      return 2;
    default:
      return 1;
  }
}

struct Expected {
  std::string unit;
  int count = 0;       // references that have the figure
  int comparable = 0;  // of these, those with a point in common
};

Finding Missing(const std::string& figure, const Expected& expected, bool cut_short,
                const std::string& have_it) {
  const char* why = cut_short ? "the run was cut short before it came to it"
                              : "the run was not cut short: the device no longer does this";
  return {.status = cut_short ? HealthStatus::kUnknown : HealthStatus::kCritical,
          .rule = "missing",
          .figure = figure,
          .unit = expected.unit,
          .message = absl::StrCat("is missing, though ", have_it, "; ", why)};
}

Finding Incomparable(const Figure& figure, const std::string& have_it) {
  const RatePoint& best = BestOf(figure);
  return {.status = HealthStatus::kWarning,
          .rule = "comparable",
          .figure = figure.name,
          .unit = figure.unit,
          .value = best.rate,
          .message = absl::StrCat("was measured by other shapes or another library (", best.key,
                                  ") than before, and can't be compared, though ", have_it)};
}

}  // namespace

std::vector<Finding> FindMissing(const MeasuredDevice& judged,
                                 absl::Span<const MeasuredDevice* const> references,
                                 absl::string_view whose) {
  int reference_count = 0;
  std::map<std::string, Expected> expected;
  for (const MeasuredDevice* reference : references) {
    if (Thoroughness(reference->calibration.mode()) > Thoroughness(judged.calibration.mode())) {
      continue;
    }
    ++reference_count;
    for (const Figure& figure : reference->figures) {
      Expected& e = expected[figure.name];
      e.unit = figure.unit;
      ++e.count;
      const Figure* const own = FigureNamed(figure.name, judged.figures);
      if (own != nullptr && CompareFigures(*own, figure).has_value()) ++e.comparable;
    }
  }
  std::vector<Finding> findings;
  for (const auto& [name, e] : expected) {
    if (2 * e.count <= reference_count || e.comparable > 0) continue;
    const std::string have_it =
        absl::StrFormat("%d of %d of %s have it", e.count, reference_count, whose);
    const Figure* const own = FigureNamed(name, judged.figures);
    const bool cut_short = judged.calibration.coverage_ratio() < 1;
    findings.push_back(own == nullptr ? Missing(name, e, cut_short, have_it)
                                      : Incomparable(*own, have_it));
  }
  return findings;
}

}  // namespace sextant
