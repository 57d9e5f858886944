// Compares predicted times of kernels with published ones, and writes a report in Markdown.
//
//   kernel_accuracy DIRECTORY
//
// Takes every table of the directory whose name a section knows. Points of calibrations are never
// scored.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "tests/support/csv.h"
#include "tests/validation/attention_accuracy.h"
#include "tests/validation/gemm_accuracy.h"
#include "tests/validation/grouped_gemm_accuracy.h"
#include "tests/validation/kernel_score_table.h"

namespace sextant {
namespace {

constexpr int kUsageError = 2;

struct Section {
  const char* title;
  const char* prefix;  // of the names of its tables
  absl::StatusOr<KernelScores> (*scores)(const std::vector<CsvRow>& rows);
};

constexpr Section kSections[] = {{"Matrix multiplications", "gemm", GemmScores},
                                 {"Attention", "attention", AttentionScores},
                                 {"Latent attention", "mla", AttentionScores},
                                 {"Layers of experts", "moe", GroupedGemmScores}};

absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> out;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    out.push_back(at->path().filename().string());
  }
  if (error) return absl::NotFoundError(absl::StrCat(directory, ": ", error.message()));
  std::sort(out.begin(), out.end());
  return out;
}

absl::Status Run(const std::string& directory) {
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesIn(directory));
  int64_t found = 0;
  for (const Section& section : kSections) {
    for (const std::string& file : files) {
      if (!absl::StartsWith(file, section.prefix) || !absl::EndsWith(file, ".csv")) continue;
      ++found;
      SEXTANT_ASSIGN_OR_RETURN(const auto rows, ReadCsv(absl::StrCat(directory, "/", file)));
      SEXTANT_ASSIGN_OR_RETURN(const KernelScores scores, section.scores(rows));
      std::cout << "## " << section.title << "\n\n"
                << file << ": " << rows.size() << " rows.\n\n"
                << KernelScoreTable(scores) << "\n";
    }
  }
  return found > 0 ? absl::OkStatus()
                   : absl::NotFoundError(absl::StrCat(directory, ": none of the tables is there"));
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: kernel_accuracy DIRECTORY\n";
    return kUsageError;
  }
  const absl::Status status = Run(argv[1]);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) { return sextant::Main(argc, argv); }
