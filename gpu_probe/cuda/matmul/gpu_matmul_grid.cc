#include "gpu_probe/cuda/matmul/gpu_matmul_grid.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace sextant::probe {
namespace {

// The number of grid points and of checks that STANDARD measures.
constexpr size_t kStandardPointCount = 80;
constexpr size_t kStandardCheckCount = 12;

// Types without tensor cores, or with few, are slow: their sizes stay below this.
constexpr double kMaxSlowOperations = 0x1p38;

void AppendFront(std::vector<MatmulSize> from, size_t count, std::vector<MatmulSize>* to) {
  from.resize(std::min(count, from.size()));
  std::move(from.begin(), from.end(), std::back_inserter(*to));
}

bool IsSlow(v1::DataType type) { return type == v1::DATA_TYPE_FP32 || type == v1::DATA_TYPE_FP64; }

std::vector<MatmulSize> FullSizes(v1::DataType type) {
  std::vector<MatmulSize> out;
  AppendFront(MatmulGridPoints(), IsSlow(type) ? kMatmulAnchorCount : kMatmulPointCount, &out);
  if (!IsSlow(type)) AppendFront(MatmulGridChecks(), kMatmulCheckCount, &out);
  std::erase_if(out, [&](const MatmulSize& size) {
    const double operations = 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) *
                              static_cast<double>(size.k);
    return IsSlow(type) && operations > kMaxSlowOperations;
  });
  return out;
}

std::vector<MatmulSize> StandardSizes(v1::DataType type) {
  std::vector<MatmulSize> out;
  if (!HasGrid(type)) {
    for (const int64_t m : {16, 256, 4096}) {
      for (const int64_t n : {1024, 4096}) {
        for (const int64_t k : {1024, 4096}) out.push_back({m, n, k});
      }
    }
    return out;
  }
  AppendFront(MatmulGridPoints(), kStandardPointCount, &out);
  AppendFront(MatmulGridChecks(), kStandardCheckCount, &out);
  return out;
}

}  // namespace

bool HasGrid(v1::DataType type) {
  return type == v1::DATA_TYPE_BF16 || type == v1::DATA_TYPE_FP8_E4M3;
}

MatmulSize FirstSize() { return {4096, 4096, 4096}; }

bool IsMeasuredIn(v1::ProbeMode mode, v1::DataType type) {
  if (mode == v1::PROBE_MODE_FULL) return true;
  const bool only_in_full = type == v1::DATA_TYPE_FP16 || type == v1::DATA_TYPE_FP64;
  if (mode == v1::PROBE_MODE_STANDARD) return !only_in_full;
  return !only_in_full && type != v1::DATA_TYPE_FP32 && type != v1::DATA_TYPE_MXFP8;
}

std::vector<MatmulSize> SizesOf(v1::ProbeMode mode, v1::DataType type) {
  std::vector<MatmulSize> out;
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

MatmulSize SustainedSize() { return {8192, 8192, 8192}; }

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
    for (const MatmulSize& size : {FirstSize(), SustainedSize(), MatmulSize{2048, 6144, 4096},
                                   MatmulSize{8192, 1024, 4096}}) {
      out.push_back({.data_type = v1::DATA_TYPE_BF16, .size = size, .layout = layout});
    }
  }
  // Attention's weights by values: 128 heads of sequences of 2,048 tokens.
  out.push_back({.size = {2048, 128, 2048}, .batch_count = 128});
  out.push_back(
      {.data_type = v1::DATA_TYPE_FP8_E4M3, .size = FirstSize(), .fast_accumulation = false});
  return out;
}

}  // namespace sextant::probe
