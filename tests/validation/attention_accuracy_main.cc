// Compares predicted times of attention, latent attention and layers of experts with published
// ones, and prints tables.
//
//   attention_accuracy DIRECTORY
//
// Of the directory's attention_forward_dev.csv, mla_context_forward_dev.csv and
// moe_grouped_gemm_dev.csv, those that exist.
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "tests/support/csv.h"
#include "tests/validation/attention_accuracy.h"
#include "tests/validation/attention_lacks.h"
#include "tests/validation/grouped_gemm_accuracy.h"
#include "tests/validation/kernel_score_table.h"

namespace sextant {
namespace {

struct Section {
  const char* title;
  const char* file;
  absl::StatusOr<KernelScores> (*scores)(const std::vector<CsvRow>& rows);
  absl::StatusOr<KernelScores> (*limits)(const std::vector<CsvRow>& rows);
  absl::StatusOr<std::vector<LackScore>> (*lacks)(const std::vector<CsvRow>& rows);
};

constexpr Section kSections[] = {
    {"Attention", "attention_forward_dev.csv", AttentionScores, AttentionLimits, AttentionLacks},
    {"Latent attention", "mla_context_forward_dev.csv", AttentionScores, nullptr, nullptr},
    {"Layers of experts", "moe_grouped_gemm_dev.csv", GroupedGemmScores, nullptr,
     GroupedGemmLacks}};

absl::Status Run(const std::string& directory) {
  int64_t found = 0;
  for (const Section& section : kSections) {
    const absl::StatusOr<std::vector<CsvRow>> rows =
        ReadCsv(absl::StrCat(directory, "/", section.file));
    if (absl::IsNotFound(rows.status())) continue;
    SEXTANT_RETURN_IF_ERROR(rows.status());
    ++found;
    SEXTANT_ASSIGN_OR_RETURN(const KernelScores scores, section.scores(*rows));
    std::cout << "## " << section.title << "\n\n"
              << rows->size() << " rows.\n\n"
              << KernelScoreTable(scores) << "\n";
    if (section.lacks == nullptr) continue;
    SEXTANT_ASSIGN_OR_RETURN(const std::vector<LackScore> lacks, section.lacks(*rows));
    if (section.limits != nullptr) {
      SEXTANT_ASSIGN_OR_RETURN(const KernelScores limits, section.limits(*rows));
      std::cout << "With every second row as a point:\n\n" << KernelScoreTable(limits) << "\n";
    }
    std::cout << "What a calibration lacks, and what that costs:\n\n" << LackTable(lacks) << "\n";
  }
  return found > 0 ? absl::OkStatus()
                   : absl::NotFoundError(absl::StrCat(directory, ": none of the tables is there"));
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: attention_accuracy DIRECTORY\n";
    return 2;
  }
  const absl::Status status = Run(argv[1]);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) { return sextant::Main(argc, argv); }
