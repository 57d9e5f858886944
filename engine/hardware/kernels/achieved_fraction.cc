#include "engine/hardware/kernels/achieved_fraction.h"

#include <algorithm>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/ceiling_time.h"

namespace sextant {
namespace {

struct PublishedRate {
  absl::string_view accelerator;
  double rate;  // in 1e12 FLOP/s, or 1e9 bytes/s
};

constexpr PublishedRate kBf16[] = {
    {"a100-sxm-80", 271.2}, {"a100-pcie-80", 252.9}, {"gh200-144", 828.6}, {"h100-sxm", 794.5},
    {"h200-sxm", 794.5},    {"b200-sxm", 1745},      {"b300-sxm", 1769},   {"mi300x", 668.4},
    {"mi325x", 784.9},      {"mi355x", 1565},        {"gaudi2", 418.7},    {"gaudi3", 1243},
};
constexpr PublishedRate kFp8[] = {
    {"gh200-144", 1535},  {"h100-sxm", 1402.6}, {"h200-sxm", 1453.4}, {"b200-sxm", 3432.5},
    {"b300-sxm", 3353.3}, {"gaudi2", 826.5},    {"gaudi3", 1289.5},
};
// Square products of 8192 for three seconds, all of NVIDIA's.
constexpr PublishedRate kTf32[] = {{"a100-sxm-80", 116}, {"rtx-a6000", 60}};
constexpr PublishedRate kFp32[] = {{"v100-sxm-16", 14}};
constexpr char kSquareSource[] =
    "mli/transformers-benchmarks README @04df81d067b5, square products of 8192";
constexpr char kMatmulSource[] =
    "stas00/ml-engineering compute/accelerator/README.md @744d01e18b79, maximum achievable matmul";

constexpr PublishedRate kCopy[] = {
    {"a100-sxm-80", 1794}, {"h100-pcie", 1832}, {"h200-sxm", 4300}, {"gh200-96", 3783}};
constexpr char kCopySource[] = "RRZE-HPC/gpu-benches gpu-stream, triad; of H200 published copies";

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// The datasheet figure that the rates are a share of.
using PeakOf = absl::FunctionRef<DatasheetValue(const Accelerator&)>;

struct Published {
  absl::Span<const PublishedRate> rows;
  double unit = 1;  // of `rows`' rates
  absl::string_view citation;
};

// The shares of `vendor`'s products; of all products where `vendor` is empty.
std::vector<double> SharesOf(const Published& published, PeakOf peak, absl::string_view vendor) {
  std::vector<double> out;
  for (const PublishedRate& row : published.rows) {
    const Accelerator* const product = AcceleratorNamed(row.accelerator);
    if (product == nullptr || (!vendor.empty() && product->vendor != vendor)) continue;
    out.push_back(row.rate * published.unit / peak(*product).value);
  }
  return out;
}

AchievedFraction FractionOf(const Accelerator& accelerator, const Published& published,
                            PeakOf peak) {
  for (const PublishedRate& row : published.rows) {
    if (row.accelerator != accelerator.name) continue;
    const double share = row.rate * published.unit / peak(accelerator).value;
    return {share, share, share, std::string(published.citation)};
  }
  const std::vector<double> of_vendor = SharesOf(published, peak, accelerator.vendor);
  const std::vector<double> seen = of_vendor.empty() ? SharesOf(published, peak, "") : of_vendor;
  const auto [low, high] = std::minmax_element(seen.begin(), seen.end());
  return {.expected = MedianOf(seen),
          .low = *low,
          .high = *high,
          .citation = absl::StrCat(
              published.citation, "; none of ", accelerator.name, ": the median of ", seen.size(),
              " products", of_vendor.empty() ? "" : absl::StrCat(" of ", accelerator.vendor))};
}

}  // namespace

AchievedFraction AchievedMatmulFraction(const Accelerator& accelerator, DataType type) {
  const auto fraction_of = [&](const Published& published, DataType of) {
    return FractionOf(accelerator, published,
                      [of](const Accelerator& a) { return PeakFlopsPerSecond(a, of); });
  };
  if (IsNarrow(type)) {
    return fraction_of({.rows = kFp8, .unit = 1e12, .citation = kMatmulSource}, DataType::kFp8);
  }
  const bool squares = type == DataType::kTf32 || type == DataType::kFp32;
  if (squares && accelerator.vendor == "NVIDIA") {
    const auto rows = type == DataType::kTf32 ? absl::MakeConstSpan(kTf32) : kFp32;
    return fraction_of({.rows = rows, .unit = 1e12, .citation = kSquareSource}, type);
  }
  AchievedFraction out =
      fraction_of({.rows = kBf16, .unit = 1e12, .citation = kMatmulSource}, DataType::kBf16);
  if (squares || type == DataType::kFp64) {
    absl::StrAppend(&out.citation, "; of bf16, since none in ", DataTypeName(type),
                    " is published");
  }
  return out;
}

AchievedFraction AchievedBandwidthFraction(const Accelerator& accelerator) {
  return FractionOf(accelerator, {.rows = kCopy, .unit = 1e9, .citation = kCopySource},
                    [](const Accelerator& a) { return a.memory_bandwidth_bytes_per_second; });
}

}  // namespace sextant
