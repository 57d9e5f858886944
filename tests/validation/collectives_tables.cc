#include "tests/validation/collectives_tables.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sextant {
namespace {

std::string Cells(const ErrorSummary& e) {
  return absl::StrFormat("%.1f | %.1f | %.0f | %+.1f", 100 * e.median, 100 * e.p90,
                         100 * e.within_10, 100 * e.median_signed);
}

constexpr char kColumns[] =
    "calls | median % | p90 % | within 10 % | bias % | in interval % | "
    "link rate: median % | p90 % | within 10 % | bias % |";
constexpr char kRule[] = "--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

std::string Columns(const CollectiveScore& s) {
  return absl::StrFormat("%d | %s | %.0f | %s |", s.ours.count, Cells(s.ours), 100 * s.in_interval,
                         Cells(s.link_rate));
}

std::string ByGpu(const CollectiveTables& tables) {
  std::ostringstream out;
  out << "| comparison | GPU | " << kColumns << "\n|---|---|" << kRule << "\n";
  for (const CollectiveScore& s : ScoreCollectivesByGpu(tables)) {
    out << "| " << CollectiveComparisonName(s.comparison) << " | "
        << (s.gpu.empty() ? "all" : s.gpu) << " | " << Columns(s) << "\n";
  }
  return out.str();
}

std::string ByOperation(const CollectiveTables& tables) {
  std::ostringstream out;
  out << "\n| comparison | GPU | operation | NCCL | " << kColumns << "\n|---|---|---|---|" << kRule
      << "\n";
  for (const CollectiveScore& s : ScoreCollectives(tables)) {
    if (s.ranks != 0) continue;  // included in the row of all ranks
    out << "| " << CollectiveComparisonName(s.comparison) << " | " << s.gpu << " | "
        << CollectiveOpName(s.op) << " | " << s.version << " | " << Columns(s) << "\n";
  }
  return out.str();
}

std::string Noise(const CollectiveTables& tables) {
  std::ostringstream out;
  out << "\n| GPU | operation | repeats: median % | p90 % | versions: median % | p90 % |\n"
      << "|---|---|--:|--:|--:|--:|\n";
  const auto cell = [](const ErrorSummary& e) {
    return e.count == 0 ? std::string("none | none")
                        : absl::StrFormat("%.1f | %.1f", 100 * e.median, 100 * e.p90);
  };
  for (const CollectiveNoise& n : NoiseOf(tables)) {
    out << absl::StrFormat("| %s | %s | %s | %s |\n", n.gpu, CollectiveOpName(n.op),
                           cell(n.repeats), cell(n.versions));
  }
  return out.str();
}

}  // namespace

std::string CollectivesReport(const CollectiveTables& tables) {
  return absl::StrCat(tables.row_count, " rows of NCCL in fp16; ", tables.left_out_count,
                      " of other libraries or types left out.\n\n", ByGpu(tables),
                      ByOperation(tables), Noise(tables));
}

}  // namespace sextant
