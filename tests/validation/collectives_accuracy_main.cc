// Compares predicted collectives with published ones, and prints Markdown tables.
//
//   collectives_accuracy COLLECTIVES.csv
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/support/csv.h"
#include "tests/validation/collectives_accuracy.h"

namespace sextant {
namespace {

constexpr int kUsageError = 2;

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

void PrintByGpu(const CollectiveTables& tables) {
  std::cout << "| comparison | GPU | " << kColumns << "\n|---|---|" << kRule << "\n";
  for (const CollectiveScore& s : ScoreCollectivesByGpu(tables)) {
    std::cout << "| " << CollectiveComparisonName(s.comparison) << " | "
              << (s.gpu.empty() ? "all" : s.gpu) << " | " << Columns(s) << "\n";
  }
}

void PrintScores(const CollectiveTables& tables) {
  std::cout << "\n| comparison | GPU | operation | ranks | NCCL | " << kColumns
            << "\n|---|---|---|---|---|" << kRule << "\n";
  for (const CollectiveScore& s : ScoreCollectives(tables)) {
    std::cout << "| " << CollectiveComparisonName(s.comparison) << " | " << s.gpu << " | "
              << CollectiveOpName(s.op) << " | " << (s.ranks == 0 ? "all" : std::to_string(s.ranks))
              << " | " << s.version << " | " << Columns(s) << "\n";
  }
}

void PrintNoise(const CollectiveTables& tables) {
  std::cout << "\n| GPU | operation | repeats: median % | p90 % | versions: median % | p90 % |\n"
            << "|---|---|--:|--:|--:|--:|\n";
  const auto cell = [](const ErrorSummary& e) {
    return e.count == 0 ? std::string("none | none")
                        : absl::StrFormat("%.1f | %.1f", 100 * e.median, 100 * e.p90);
  };
  for (const CollectiveNoise& n : NoiseOf(tables)) {
    std::cout << absl::StrFormat("| %s | %s | %s | %s |\n", n.gpu, CollectiveOpName(n.op),
                                 cell(n.repeats), cell(n.versions));
  }
}

int Run(const std::string& path) {
  const auto rows = ReadCsv(path);
  const auto tables = rows.ok() ? TablesOf(*rows) : rows.status();
  if (!tables.ok()) {
    std::cerr << path << ": " << tables.status().message() << "\n";
    return kUsageError;
  }
  std::cout << tables->row_count << " rows of NCCL in fp16; " << tables->left_out_count
            << " of other libraries or types left out.\n\n";
  PrintByGpu(*tables);
  PrintScores(*tables);
  PrintNoise(*tables);
  return 0;
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) {
  if (argc == 2) return sextant::Run(argv[1]);
  std::cerr << "collectives_accuracy COLLECTIVES.csv\n";
  return sextant::kUsageError;
}
