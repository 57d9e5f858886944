// The share of figures that lie in their intervals.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/validation/report_tables.h"

namespace sextant {
namespace {

constexpr size_t kEnoughFigures = 20;

struct Coverage {
  int count = 0;
  int below = 0;
  int above = 0;
};

// Measured over expected, minus 1, by series of runs.
using Residuals = std::map<std::string, std::vector<double>>;

struct Group {
  Coverage coverage;
  Residuals residuals;
};

void Count(const FigureLine& figure, Group& out) {
  ++out.coverage.count;
  if (figure.measured < figure.low) ++out.coverage.below;
  if (figure.measured > figure.high) ++out.coverage.above;
  out.residuals[figure.source + figure.series].push_back(figure.measured / figure.expected - 1);
}

// The quantile of `sorted`, not empty, between its two nearest figures.
double QuantileOf(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(std::floor(place));
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - std::floor(place));
}

// The tail that the engine's interval of a framework leaves on each side of its residuals: less
// where all figures are of one project's few series.
double TailOf(const std::string& framework) { return framework == "deepspeed" ? 0.05 : 0.1; }

// The share of figures inside an interval made on the residuals of all other series.
double HeldOutCoverage(const Residuals& residuals, double tail) {
  size_t inside = 0;
  size_t count = 0;
  for (const auto& [left_out, own] : residuals) {
    std::vector<double> others;
    for (const auto& [series, errors] : residuals) {
      if (series != left_out) others.insert(others.end(), errors.begin(), errors.end());
    }
    count += own.size();
    if (others.empty()) continue;
    std::sort(others.begin(), others.end());
    const double low = QuantileOf(others, tail);
    const double high = QuantileOf(others, 1 - tail);
    inside += static_cast<size_t>(
        std::count_if(own.begin(), own.end(), [&](double e) { return low <= e && e <= high; }));
  }
  return static_cast<double>(inside) / static_cast<double>(count);
}

std::string Cells(const Coverage& coverage) {
  const auto share = [&](int count) {
    return absl::StrFormat(" | %.0f %%", 100.0 * count / coverage.count);
  };
  return absl::StrCat(coverage.count, share(coverage.count - coverage.below - coverage.above),
                      share(coverage.below), share(coverage.above));
}

std::string HeldOutCells(const Group& group, double tail) {
  const auto figures = static_cast<size_t>(group.coverage.count);
  if (figures < kEnoughFigures) return " | | unproven";
  return absl::StrFormat(" | %d | %.0f %%", group.residuals.size(),
                         100 * HeldOutCoverage(group.residuals, tail));
}

}  // namespace

std::string CoverageTable(const std::vector<FigureLine>& figures) {
  std::map<std::tuple<MemoryDefinition, std::string, RequestKind>, Group> groups;
  for (const FigureLine& figure : figures) {
    Count(figure, groups[{figure.definition, figure.framework, figure.request}]);
  }
  std::string out =
      "| definition | framework | request | figures | inside | below low | above high | series | "
      "inside, of series left out |\n"
      "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [key, group] : groups) {
    const auto& [definition, framework, request] = key;
    absl::StrAppend(&out, "| ", DefinitionName(definition), " | ", framework, " | ",
                    RequestName(request), " | ", Cells(group.coverage),
                    HeldOutCells(group, TailOf(framework)), " |\n");
  }
  return out;
}

}  // namespace sextant
