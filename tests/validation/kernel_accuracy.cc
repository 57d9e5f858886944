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
#include "tests/validation/attention_lacks.h"
#include "tests/validation/collectives_accuracy.h"
#include "tests/validation/collectives_tables.h"
#include "tests/validation/grouped_matmul_accuracy.h"
#include "tests/validation/grouped_product_accuracy.h"
#include "tests/validation/kernel_requests.h"
#include "tests/validation/kernel_score_table.h"
#include "tests/validation/matmul_accuracy.h"
#include "tests/validation/roof_accuracy.h"

namespace sextant {
namespace {

constexpr int kUsageError = 2;

constexpr char kPreamble[] = R"md(# Predicted and published times of kernels

Made by `build/release/bin/kernel_accuracy $SEXTANT_SHARED_DIR/data/kernels`, which takes any
directory of such tables. Each table's calibration is chosen from its own rows by a fixed
rule; its points and checks are never scored. Errors are |predicted / measured - 1| in per
cent, bias the median of predicted over measured less 1. The datasheet's roofline is max(FLOPs
/ peak, bytes / bandwidth); the measured peaks' has the best rates of the calibration's points
instead. "By requests" asks the service, as a user would, for rows that are no points of the
calibrations that the engine brings along; intervals aim at 80 %. How the times are made, and
why some are worse: [kernels_matmul.md](kernels_matmul.md),
[kernels_attention.md](kernels_attention.md), [links.md](links.md).

)md";

using Rows = std::vector<CsvRow>;

// Where nothing of the kind was measured: what ErrorUnderCeilings() is made of.
std::string RoofSection(const std::vector<LackScore>& ceilings) {
  return absl::StrCat("\nBy two ceilings alone, (c^2 + m^2)^(1/2) + floor:\n\n",
                      LackTable(ceilings));
}

std::string RequestSection(const std::string& table) {
  return absl::StrCat("\nBy requests:\n\n", table);
}

absl::StatusOr<std::string> Matmuls(const Rows& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const std::string requests, MatmulRequests(rows));
  SEXTANT_ASSIGN_OR_RETURN(const KernelScores scores, MatmulScores(rows));
  SEXTANT_ASSIGN_OR_RETURN(const RoofErrors rates, MatmulsUnderBestRates(rows));
  SEXTANT_ASSIGN_OR_RETURN(const RoofErrors datasheet, MatmulsUnderDatasheets(rows));
  return absl::StrCat(KernelScoreTable(scores), RequestSection(requests),
                      RoofSection({{"best measured rates, bf16", rates.wide},
                                   {"best measured rates, fp8", rates.narrow},
                                   {"datasheet x published share, bf16", datasheet.wide},
                                   {"datasheet x published share, fp8", datasheet.narrow}}));
}

absl::StatusOr<std::string> LatentAttention(const Rows& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const KernelScores scores, AttentionScores(rows));
  SEXTANT_ASSIGN_OR_RETURN(const std::string requests, AttentionRequests(rows));
  return absl::StrCat(KernelScoreTable(scores), RequestSection(requests));
}

std::string LackSection(const std::vector<LackScore>& lacks) {
  return absl::StrCat("\nWhat a calibration lacks, and what that costs:\n\n", LackTable(lacks));
}

absl::StatusOr<std::string> Attention(const Rows& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const KernelScores scores, AttentionScores(rows));
  SEXTANT_ASSIGN_OR_RETURN(const KernelScores limits, AttentionLimits(rows));
  SEXTANT_ASSIGN_OR_RETURN(const RoofErrors ceilings, AttentionUnderDatasheets(rows));
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<LackScore> lacks, AttentionLacks(rows));
  SEXTANT_ASSIGN_OR_RETURN(const std::string requests, AttentionRequests(rows));
  return absl::StrCat(KernelScoreTable(scores), RequestSection(requests),
                      "\nWith every second row as a point:\n\n", KernelScoreTable(limits),
                      LackSection(lacks),
                      RoofSection({{"datasheet x published share, bf16", ceilings.wide},
                                   {"datasheet x published share, fp8", ceilings.narrow}}));
}

absl::StatusOr<std::string> Experts(const Rows& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const KernelScores scores, GroupedMatmulScores(rows));
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<LackScore> lacks, GroupedMatmulLacks(rows));
  SEXTANT_ASSIGN_OR_RETURN(const KernelScores halves, GroupedMatmulHalves(rows));
  SEXTANT_ASSIGN_OR_RETURN(const std::string requests, ExpertRequests(rows));
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<LackScore> parts, LayersOverParts(rows));
  return absl::StrCat(KernelScoreTable(scores), RequestSection(requests),
                      "\nEach half of the rows by the other half:\n\n", KernelScoreTable(halves),
                      LackSection(lacks),
                      "\nThe layer over the sum of its parts, each product by "
                      "GroupedMatmulPredictor::PredictProduct():\n\n",
                      LackTable(parts, "type; rows per expert, GPU"));
}

absl::StatusOr<std::string> Collectives(const Rows& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const CollectiveTables tables, TablesOf(rows));
  SEXTANT_ASSIGN_OR_RETURN(const std::string requests, CollectiveRequests(rows));
  return absl::StrCat(CollectivesReport(tables), RequestSection(requests));
}

struct Section {
  const char* title;
  const char* prefix;  // of the names of its tables
  absl::StatusOr<std::string> (*report)(const Rows& rows);
};

constexpr Section kSections[] = {{"Matrix multiplications", "gemm", Matmuls},
                                 {"Attention", "attention", Attention},
                                 {"Latent attention", "mla", LatentAttention},
                                 {"Layers of experts", "moe", Experts},
                                 {"Collectives", "collectives", Collectives}};

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
      SEXTANT_ASSIGN_OR_RETURN(const std::string report, section.report(rows));
      std::cout << (found == 1 ? kPreamble : "") << "## " << section.title << "\n\n"
                << file << ": " << rows.size() << " rows.\n\n"
                << report << "\n";
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
