#include "gpu_probe/cuda/gemm/gpu_matmul_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "absl/types/span.h"

namespace sextant {
namespace {

constexpr int64_t kAnchorRows[] = {1, 16, 64, 256, 1024, 4096, 8192};
constexpr int64_t kAnchorSizes[] = {1024, 4096, 16384};
constexpr int64_t kScatterRows[] = {128,  192,  224,  256,  257,  512, 513,
                                    1024, 1025, 2048, 2049, 4096, 4352};
constexpr int64_t kScatterSizes[] = {1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384};
constexpr int64_t kCheckRows[] = {32,  96,   97,   160,  193,  225,  768,
                                  769, 1280, 1792, 2304, 2561, 3329, 3584};
constexpr int64_t kCheckSizes[] = {1536, 2560, 3584, 5120, 7168, 10240, 12288};
constexpr double kGoldenRatio = 0.6180339887498949;

// How many of the two lists FULL and STANDARD measure.
constexpr size_t kFullPointCount = 160;
constexpr size_t kFullCheckCount = 40;
constexpr size_t kStandardPointCount = 80;
constexpr size_t kStandardCheckCount = 12;

// Types without tensor cores, or with few, take long: theirs are sizes below this.
constexpr double kMostSlowOperations = 0x1p38;

std::vector<GpuMatmulSize> Product(absl::Span<const int64_t> rows,
                                   absl::Span<const int64_t> sizes) {
  std::vector<GpuMatmulSize> out;
  for (const int64_t m : rows) {
    for (const int64_t n : sizes) {
      for (const int64_t k : sizes) out.push_back({m, n, k});
    }
  }
  return out;
}

// Every size once, in steps of the golden ratio's share of the list or the next larger step that
// meets all.
std::vector<GpuMatmulSize> Walked(const std::vector<GpuMatmulSize>& sizes) {
  const size_t count = sizes.size();
  auto step = static_cast<size_t>(std::lround(kGoldenRatio * static_cast<double>(count)));
  while (std::gcd(step, count) != 1) ++step;
  std::vector<GpuMatmulSize> out;
  for (size_t i = 0, at = 0; i < count; ++i, at = (at + step) % count) out.push_back(sizes[at]);
  return out;
}

void AppendFront(std::vector<GpuMatmulSize> from, size_t count, std::vector<GpuMatmulSize>* to) {
  from.resize(std::min(count, from.size()));
  std::move(from.begin(), from.end(), std::back_inserter(*to));
}

bool IsSlow(v1::DataType type) { return type == v1::DATA_TYPE_FP32 || type == v1::DATA_TYPE_FP64; }

std::vector<GpuMatmulSize> FullSizes(v1::DataType type) {
  std::vector<GpuMatmulSize> out;
  AppendFront(PointSizes(), IsSlow(type) ? std::size(kAnchorRows) * 9 : kFullPointCount, &out);
  if (!IsSlow(type)) AppendFront(CheckSizes(), kFullCheckCount, &out);
  std::erase_if(out, [&](const GpuMatmulSize& size) {
    const double operations = 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) *
                              static_cast<double>(size.k);
    return IsSlow(type) && operations > kMostSlowOperations;
  });
  return out;
}

std::vector<GpuMatmulSize> StandardSizes(v1::DataType type) {
  if (!HasGrid(type)) return Product({16, 256, 4096}, {1024, 4096});
  std::vector<GpuMatmulSize> out;
  AppendFront(PointSizes(), kStandardPointCount, &out);
  AppendFront(CheckSizes(), kStandardCheckCount, &out);
  return out;
}

bool IsAmong(absl::Span<const int64_t> sizes, int64_t size) {
  return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}

}  // namespace

bool IsAnchor(const GpuMatmulSize& size) {
  return IsAmong(kAnchorRows, size.m) && IsAmong(kAnchorSizes, size.n) &&
         IsAmong(kAnchorSizes, size.k);
}

bool HasGrid(v1::DataType type) {
  return type == v1::DATA_TYPE_BF16 || type == v1::DATA_TYPE_FP8_E4M3;
}

std::vector<GpuMatmulSize> PointSizes() {
  std::vector<GpuMatmulSize> out = Product(kAnchorRows, kAnchorSizes);
  std::vector<GpuMatmulSize> scatter = Product(kScatterRows, kScatterSizes);
  std::erase_if(scatter, [&](const GpuMatmulSize& size) {
    return std::find(out.begin(), out.end(), size) != out.end();
  });
  for (const GpuMatmulSize& size : Walked(scatter)) out.push_back(size);
  return out;
}

std::vector<GpuMatmulSize> CheckSizes() { return Walked(Product(kCheckRows, kCheckSizes)); }

GpuMatmulSize FirstSize() { return {4096, 4096, 4096}; }

bool IsMeasuredIn(v1::ProbeMode mode, v1::DataType type) {
  if (mode == v1::PROBE_MODE_FULL) return true;
  const bool only_in_full = type == v1::DATA_TYPE_FP16 || type == v1::DATA_TYPE_FP64;
  if (mode == v1::PROBE_MODE_STANDARD) return !only_in_full;
  return !only_in_full && type != v1::DATA_TYPE_FP32 && type != v1::DATA_TYPE_MXFP8;
}

std::vector<GpuMatmulSize> SizesOf(v1::ProbeMode mode, v1::DataType type) {
  std::vector<GpuMatmulSize> out;
  if (!IsMeasuredIn(mode, type)) return out;
  switch (mode) {
    case v1::PROBE_MODE_QUICK:
      if (type == v1::DATA_TYPE_BF16) out.push_back(SustainedSize());
      return out;
    case v1::PROBE_MODE_FULL:
      out = FullSizes(type);
      break;
    default:
      out = StandardSizes(type);
  }
  std::erase(out, FirstSize());
  return out;
}

GpuMatmulSize SustainedSize() { return {8192, 8192, 8192}; }

double SustainedSeconds(v1::ProbeMode mode, v1::DataType type) {
  const bool full = mode == v1::PROBE_MODE_FULL;
  if (type == v1::DATA_TYPE_BF16 && mode != v1::PROBE_MODE_QUICK) return full ? 1.0 : 0.3;
  return type == v1::DATA_TYPE_FP8_E4M3 && full ? 1.0 : 0.0;
}

double TrialSeconds(v1::ProbeMode mode) { return mode == v1::PROBE_MODE_FULL ? 1.5 : 0; }

std::vector<OtherMatmul> OtherMatmuls(v1::ProbeMode mode) {
  std::vector<OtherMatmul> out;
  if (mode != v1::PROBE_MODE_FULL) return out;
  for (const auto layout :
       {v1::MatmulMeasurement::LAYOUT_ROW_BY_ROW, v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW}) {
    for (const GpuMatmulSize& size : {FirstSize(), SustainedSize(), GpuMatmulSize{2048, 6144, 4096},
                                      GpuMatmulSize{8192, 1024, 4096}}) {
      out.push_back({.data_type = v1::DATA_TYPE_BF16, .size = size, .layout = layout});
    }
  }
  // Attention's weights by values: 128 heads of sequences of 2,048 tokens.
  out.push_back({.size = {2048, 128, 2048}, .batch_count = 128});
  out.push_back(
      {.data_type = v1::DATA_TYPE_FP8_E4M3, .size = FirstSize(), .fast_accumulation = false});
  return out;
}

}  // namespace sextant
