#include "tests/validation/grouped_product_accuracy.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/grouped_matmul_predictor.h"
#include "tests/validation/grouped_matmul_accuracy.h"

namespace sextant {
namespace {

constexpr double kReachedBandwidth = 0.80;  // of the datasheet's, as published copies reach
constexpr double kPermutedBytes = 10;       // per element of a row: read, write, read, sum
// Published layers go over all tokens of the expert-parallel group, which training does not: up to
// this size it shows little, and at 256 it is most of the time.
constexpr int64_t kLargestGroup = 4;
constexpr int64_t kRowLimits[] = {64, 256, 1024, 4096};

std::string RowsText(double rows) {
  int64_t least = 0;
  for (const int64_t limit : kRowLimits) {
    if (rows < static_cast<double>(limit)) return absl::StrCat(least, " to ", limit, " rows");
    least = limit;
  }
  return absl::StrCat(least, " rows and more");
}

double SumOfParts(const GroupedMatmulPredictor& predictor, MatmulType type, double bytes_per_second,
                  const GroupedMatmulShape& shape) {
  const auto product = [&](int64_t n, int64_t k) {
    const KernelTime time =
        predictor.PredictProduct({.experts = shape.experts / shape.expert_parallel,
                                  .rows_per_expert = RowsPerExpert(shape),
                                  .n = n,
                                  .k = k});
    return time.expected.value() / GroupedFactor(ErrorOfGroupedProducts(type));
  };
  const int64_t up = (shape.gated ? 2 : 1) * shape.intermediate;
  const double bytes = kPermutedBytes * static_cast<double>(shape.hidden) +
                       2 * static_cast<double>(up + shape.intermediate);
  return product(up, shape.hidden) + product(shape.hidden, shape.intermediate) +
         bytes * ExpertRows(shape) / bytes_per_second;
}

}  // namespace

absl::StatusOr<std::vector<LackScore>> LayersOverParts(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, GroupedMatmulTable(rows));
  std::map<std::string, std::vector<double>> ratios;
  for (const auto& [key, points] : table) {
    const auto& [gpu, data_type, kernel] = key;
    const Accelerator* const accelerator = AcceleratorNamed(gpu);
    const MatmulType type = MatmulTypeNamed(data_type);
    if (accelerator == nullptr || !accelerator->memory_bandwidth_bytes_per_second) continue;
    const double memory = kReachedBandwidth * accelerator->memory_bandwidth_bytes_per_second.value;
    for (const bool gated : {false, true}) {
      const auto predictor = GroupedMatmulPredictor::OfAccelerator(
          *accelerator, {.type = type.data_type, .gated = gated, .scaling = type.scaling});
      if (!predictor.has_value()) continue;
      for (const GroupedMatmulPoint& point : points) {
        if (point.shape.gated != gated || point.shape.expert_parallel > kLargestGroup) continue;
        const double ratio = point.time.value() / SumOfParts(*predictor, type, memory, point.shape);
        for (const std::string& name :
             {RowsText(RowsPerExpert(point.shape)), gpu, std::string("all")}) {
          ratios[absl::StrCat(data_type, ", ", name)].push_back(ratio);
        }
      }
    }
  }
  std::vector<LackScore> out;
  for (auto& [name, of_name] : ratios) out.push_back({name, ErrorOf(std::move(of_name))});
  return out;
}

}  // namespace sextant
