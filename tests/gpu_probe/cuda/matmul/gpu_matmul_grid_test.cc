#include "gpu_probe/cuda/matmul/gpu_matmul_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "engine/base/matmul_grid.h"

namespace sextant::probe {
namespace {

std::vector<std::tuple<int64_t, int64_t, int64_t>> Plain(const std::vector<MatmulSize>& sizes) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> out;
  for (const MatmulSize& size : sizes) out.emplace_back(size.m, size.n, size.k);
  return out;
}

// With the first.
std::vector<MatmulSize> AllOf(v1::ProbeMode mode, v1::DataType type) {
  std::vector<MatmulSize> out = SizesOf(mode, type);
  if (IsMeasuredIn(mode, type)) out.push_back(FirstSize());
  return out;
}

TEST(GpuMatmulGridTest, NoSizeComesTwice) {
  for (const auto mode : {v1::PROBE_MODE_QUICK, v1::PROBE_MODE_STANDARD, v1::PROBE_MODE_FULL}) {
    for (const GpuMatmulType& type : GpuMatmulTypes()) {
      const auto sizes = Plain(AllOf(mode, type.data_type));
      EXPECT_EQ(std::set(sizes.begin(), sizes.end()).size(), sizes.size()) << type.label;
    }
  }
}

TEST(GpuMatmulGridTest, FullHasWhatACalibrationHolds) {
  const auto sizes = Plain(AllOf(v1::PROBE_MODE_FULL, v1::DATA_TYPE_BF16));
  EXPECT_EQ(sizes.size(), kMatmulPointCount + kMatmulCheckCount);
  const std::set<std::tuple<int64_t, int64_t, int64_t>> measured(sizes.begin(), sizes.end());
  const auto points = Plain(MatmulGridPoints());
  EXPECT_TRUE(std::all_of(points.begin(), points.begin() + kMatmulPointCount,
                          [&](const auto& size) { return measured.count(size) > 0; }));
}

TEST(GpuMatmulGridTest, StandardHasAllAnchorsOfTwoTypes) {
  for (const auto type : {v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP8_E4M3}) {
    const auto sizes = Plain(AllOf(v1::PROBE_MODE_STANDARD, type));
    const std::set<std::tuple<int64_t, int64_t, int64_t>> measured(sizes.begin(), sizes.end());
    const auto points = Plain(MatmulGridPoints());
    EXPECT_TRUE(std::all_of(points.begin(), points.begin() + 63,
                            [&](const auto& size) { return measured.count(size) > 0; }));
    EXPECT_EQ(sizes.size(), 92u);
  }
  EXPECT_EQ(AllOf(v1::PROBE_MODE_STANDARD, v1::DATA_TYPE_TF32).size(), 12u);
  EXPECT_TRUE(AllOf(v1::PROBE_MODE_STANDARD, v1::DATA_TYPE_FP64).empty());
}

TEST(GpuMatmulGridTest, TheGridTakesLittleTime) {
  // The time of one run of each size on an H100 SXM, at 0.7 PFLOP/s in bf16 and twice that in fp8.
  double operations = 0;
  for (const MatmulSize& size : AllOf(v1::PROBE_MODE_STANDARD, v1::DATA_TYPE_BF16)) {
    operations += 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) *
                  static_cast<double>(size.k);
  }
  EXPECT_LT(operations / 7e14, 0.03);
  // Types with few tensor cores have none that takes long.
  for (const MatmulSize& size : AllOf(v1::PROBE_MODE_FULL, v1::DATA_TYPE_FP64)) {
    EXPECT_LE(size.m * size.n * size.k, int64_t{1} << 37);
  }
}

TEST(GpuMatmulGridTest, EverySizeSuitsEveryType) {
  for (const GpuMatmulType& type : GpuMatmulTypes()) {
    for (const MatmulSize& size : AllOf(v1::PROBE_MODE_FULL, type.data_type)) {
      EXPECT_EQ(size.n % type.multiple, 0) << type.label;
      EXPECT_EQ(size.k % type.multiple, 0) << type.label;
    }
  }
}

}  // namespace
}  // namespace sextant::probe
