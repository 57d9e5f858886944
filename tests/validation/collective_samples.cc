#include "tests/validation/collective_samples.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "tests/validation/error_summary.h"

namespace sextant {
namespace {

using Key = std::tuple<std::string, CollectiveOp, std::string>;

std::string Cell(const CsvRow& row, const char* column) {
  const auto cell = row.find(column);
  return cell == row.end() ? "" : cell->second;
}

absl::optional<CollectiveOp> OpOf(const CsvRow& row) {
  if (Cell(row, "library") != "nccl" || Cell(row, "dtype") != "fp16") return absl::nullopt;
  const std::string name = Cell(row, "op") == "alltoall" ? "all_to_all" : Cell(row, "op");
  for (const CollectiveOp op : kCollectiveOps) {
    if (CollectiveOpName(op) == name) return op;
  }
  return absl::nullopt;
}

absl::Status NoNumber(const char* column, const CsvRow& row) {
  return absl::InvalidArgumentError(
      absl::StrCat("column ", column, ": \"", Cell(row, column), "\" is no number"));
}

absl::Status Add(const CsvRow& row, SamplesOfRanks& samples) {
  int64_t ranks = 0;
  int64_t bytes = 0;
  double seconds = 0;
  if (!absl::SimpleAtoi(Cell(row, "gpus"), &ranks)) return NoNumber("gpus", row);
  if (!absl::SimpleAtoi(Cell(row, "message_bytes"), &bytes)) return NoNumber("message_bytes", row);
  if (!absl::SimpleAtod(Cell(row, "seconds"), &seconds)) return NoNumber("seconds", row);
  samples[ranks][bytes].push_back(seconds);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CollectiveTables> TablesOf(const std::vector<CsvRow>& rows) {
  CollectiveTables out;
  std::map<Key, SamplesOfRanks> tables;
  for (const CsvRow& row : rows) {
    const absl::optional<CollectiveOp> op = OpOf(row);
    if (!op) {
      ++out.left_out_count;
      continue;
    }
    ++out.row_count;
    const Key key = {Cell(row, "gpu"), *op, Cell(row, "table_version")};
    if (absl::Status status = Add(row, tables[key]); !status.ok()) return status;
  }
  for (auto& [key, samples] : tables) {
    const auto& [gpu, op, version] = key;
    out.tables.push_back({gpu, op, version, std::move(samples)});
  }
  return out;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return QuantileOf(values, 0.5);
}

}  // namespace sextant
