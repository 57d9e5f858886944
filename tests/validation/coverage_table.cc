// The share of figures that lie in their intervals.
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/validation/report_tables.h"

namespace sextant {
namespace {

struct Coverage {
  int count = 0;
  int below = 0;
  int above = 0;
};

void Count(const ScoredFigure& figure, Coverage& out) {
  const v1::Interval interval = figure.prediction->Of(figure.measured.definition);
  const double measured = static_cast<double>(figure.measured.size.value());
  ++out.count;
  if (measured < interval.low()) ++out.below;
  if (measured > interval.high()) ++out.above;
}

std::string Cells(const Coverage& coverage) {
  const auto share = [&](int count) {
    return absl::StrFormat(" | %.0f %%", 100.0 * count / coverage.count);
  };
  return absl::StrCat(coverage.count, share(coverage.count - coverage.below - coverage.above),
                      share(coverage.below), share(coverage.above), " |\n");
}

}  // namespace

std::string CoverageTable(const std::vector<ScoredFigure>& figures) {
  std::map<std::tuple<MemoryDefinition, std::string, RequestKind>, Coverage> groups;
  for (const ScoredFigure& figure : figures) {
    if (figure.measured.definition == MemoryDefinition::kCalculated) continue;
    Count(figure, groups[{figure.measured.definition, figure.answer->run.source, figure.request}]);
  }
  std::string out =
      "| definition | source | request | figures | inside | below low | above high |\n"
      "| --- | --- | --- | ---: | ---: | ---: | ---: |\n";
  for (const auto& [key, coverage] : groups) {
    const auto& [definition, source, request] = key;
    absl::StrAppend(&out, "| ", DefinitionName(definition), " | ", source, " | ",
                    RequestName(request), " | ", Cells(coverage));
  }
  return out;
}

}  // namespace sextant
