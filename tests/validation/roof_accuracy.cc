#include "tests/validation/roof_accuracy.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/ceiling_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/kernel_source.h"
#include "tests/validation/attention_rows.h"
#include "tests/validation/matmul_rows.h"

namespace sextant {
namespace {

// From here on products are of memory rather than of a cache.
constexpr double kLargeBytes = 5e7;

struct TimedWork {
  KernelWork work;
  double seconds = 0;
};

double RatioUnder(const KernelCeilings& ceilings, const TimedWork& timed) {
  const double compute = (timed.work.flops / ceilings.matrix).value();
  const double memory = timed.work.moved_bytes / ceilings.memory.value();
  return timed.seconds / (std::hypot(compute, memory) + ceilings.floor.value());
}

absl::optional<KernelCeilings> CeilingsOf(const std::string& gpu, DataType type) {
  const Accelerator* accelerator = AcceleratorNamed(gpu);
  if (accelerator == nullptr) return absl::nullopt;
  const absl::optional<DeviceCeilings> ceilings = DatasheetCeilings(*accelerator, type);
  if (!ceilings.has_value()) return absl::nullopt;
  return ceilings->ceilings;
}

KernelCeilings BestRates(const std::vector<TimedWork>& all) {
  double matrix = 0;
  double memory = 0;
  double floor = all.front().seconds;
  for (const TimedWork& timed : all) {
    matrix = std::max(matrix, timed.work.flops.value() / timed.seconds);
    floor = std::min(floor, timed.seconds);
    if (timed.work.moved_bytes < kLargeBytes) continue;
    memory = std::max(memory, timed.work.moved_bytes / timed.seconds);
  }
  return {
      .matrix = FlopsPerSecond(matrix), .memory = BytesPerSecond(memory), .floor = Seconds(floor)};
}

TimedWork TimedOf(const MatmulPoint& matmul, DataType type) {
  const auto m = static_cast<double>(matmul.shape.m);
  const auto n = static_cast<double>(matmul.shape.n);
  const auto k = static_cast<double>(matmul.shape.k);
  return {{.flops = Flops(2 * m * n * k),
           .moved_bytes = MatmulElementBytes(type) * (m * k + n * k) + 2 * m * n},
          matmul.time.value()};
}

struct Ratios {
  std::vector<double> wide;
  std::vector<double> narrow;

  RoofErrors Errors() const {
    RoofErrors out;
    if (!wide.empty()) out.wide = ErrorOf(wide);
    if (!narrow.empty()) out.narrow = ErrorOf(narrow);
    return out;
  }
};

// `ceilings_of(key, type, works)` says what the works of a table are held against.
template <typename CeilingsOf>
absl::StatusOr<RoofErrors> MatmulsUnder(const std::vector<CsvRow>& rows,
                                        const CeilingsOf& ceilings_of) {
  SEXTANT_ASSIGN_OR_RETURN(const MatmulTable table, MatmulTableOf(rows));
  Ratios ratios;
  for (const auto& [key, matmuls] : table) {
    const auto& [gpu, name, library] = key;
    if (name != "bf16" && name != "fp8") continue;
    const DataType type = MatmulTypeNamed(name).data_type;
    std::vector<TimedWork> works;
    for (const MatmulPoint& matmul : matmuls) works.push_back(TimedOf(matmul, type));
    const absl::optional<KernelCeilings> ceilings = ceilings_of(gpu, type, works);
    if (!ceilings.has_value()) continue;
    for (size_t i = 0; i < matmuls.size(); ++i) {
      if (!InMatmulDomain(matmuls[i].shape)) continue;
      (IsNarrow(type) ? ratios.narrow : ratios.wide).push_back(RatioUnder(*ceilings, works[i]));
    }
  }
  return ratios.Errors();
}

bool IsNearTraining(absl::string_view kernel) {
  return absl::StartsWith(kernel, "sglang ") &&
         (absl::EndsWith(kernel, " fa3") || absl::EndsWith(kernel, " trtllm_mha") ||
          absl::EndsWith(kernel, " flash_attention"));
}

}  // namespace

absl::StatusOr<RoofErrors> MatmulsUnderDatasheets(const std::vector<CsvRow>& rows) {
  return MatmulsUnder(rows, [](const std::string& gpu, DataType type, const auto&) {
    return CeilingsOf(gpu, type);
  });
}

absl::StatusOr<RoofErrors> MatmulsUnderBestRates(const std::vector<CsvRow>& rows) {
  return MatmulsUnder(rows, [](const std::string&, DataType, const auto& works) {
    return absl::make_optional(BestRates(works));
  });
}

absl::StatusOr<RoofErrors> AttentionUnderDatasheets(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, AttentionTable(rows));
  Ratios ratios;
  for (const auto& [key, points] : table) {
    const auto& [gpu, name, kernel] = key;
    if (!IsNearTraining(kernel)) continue;
    const DataType type = MatmulTypeNamed(name).data_type;
    const absl::optional<KernelCeilings> ceilings = CeilingsOf(gpu, type);
    if (!ceilings.has_value()) continue;
    for (const AttentionPoint& point : points) {
      const AttentionShape& shape = point.shape;
      const bool counts =
          shape.causal && shape.window == 0 && shape.sequence >= 2048 && shape.sequence <= 16384;
      if (!counts) continue;
      const TimedWork timed = {{.flops = Flops(AttentionFlops(shape)),
                                .moved_bytes = AttentionElements(shape) * MatmulElementBytes(type)},
                               point.time.value()};
      (IsNarrow(type) ? ratios.narrow : ratios.wide).push_back(RatioUnder(*ceilings, timed));
    }
  }
  return ratios.Errors();
}

}  // namespace sextant
