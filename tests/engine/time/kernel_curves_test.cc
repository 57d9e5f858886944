#include "engine/time/kernel_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::SizeIs;

constexpr DataType kTypes[] = {DataType::kBf16, DataType::kFp8E4m3};

std::vector<KernelCurve> CurvesOf(absl::string_view name) {
  const PlacedDevice device[] = {PlacedProduct(*AcceleratorNamed(name))};
  return *KernelCurvesOf(device, DeviceJoin::kMedian, kTypes);
}

TEST(KernelCurves, RiseToMostOfThePeak) {
  const std::vector<KernelCurve> curves = CurvesOf("h200-sxm");
  ASSERT_THAT(curves, SizeIs(6));
  for (const KernelCurve& curve : curves) {
    ASSERT_TRUE(curve.peak.has_value());
    const auto share = [&curve](const CurvePoint& point) {
      return point.flops.value() / point.time.expected.value() / curve.peak->value();
    };
    EXPECT_LT(share(curve.points.front()), 0.15);
    EXPECT_GT(share(curve.points.back()), 0.3);
    EXPECT_LT(share(curve.points.back()), 1);
    for (size_t i = 1; i < curve.points.size(); ++i) {
      EXPECT_GT(curve.points[i].size, curve.points[i - 1].size);
    }
  }
}

// fp8's peak is unknown to an A100: bf16 alone is there.
TEST(KernelCurves, LeaveOutTypesThatNobodyKnows) {
  EXPECT_THAT(CurvesOf("a100-sxm-80"), SizeIs(3));
}

// At each size the one that is slower there.
TEST(KernelCurves, OfAPlacementAreItsSlowests) {
  const PlacedDevice both[] = {PlacedProduct(*AcceleratorNamed("b200-sxm")),
                               PlacedProduct(*AcceleratorNamed("h100-sxm"))};
  const auto joined = *KernelCurvesOf(both, DeviceJoin::kSlowest, {DataType::kBf16});
  const auto first = *KernelCurvesOf({both[0]}, DeviceJoin::kSlowest, {DataType::kBf16});
  const auto second = *KernelCurvesOf({both[1]}, DeviceJoin::kSlowest, {DataType::kBf16});
  for (size_t c = 0; c < joined.size(); ++c) {
    for (size_t i = 0; i < joined[c].points.size(); ++i) {
      EXPECT_EQ(joined[c].points[i].time.expected,
                std::max(first[c].points[i].time.expected, second[c].points[i].time.expected));
    }
  }
}

}  // namespace
}  // namespace sextant
