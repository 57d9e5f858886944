#include "engine/time/kernel_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::SizeIs;

constexpr DataType kTypes[] = {DataType::kBf16, DataType::kFp8E4m3};

std::vector<KernelCurve> Curves(absl::Span<const PlacedDevice> devices, DeviceJoin join,
                                absl::Span<const DataType> types) {
  CallWork unstopped;
  return *KernelCurvesOf(devices, join, types, unstopped);
}

std::vector<KernelCurve> CurvesOf(absl::string_view name) {
  const PlacedDevice device[] = {PlacedProduct(*AcceleratorNamed(name))};
  return Curves(device, DeviceJoin::kMedian, kTypes);
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
  const auto joined = Curves(both, DeviceJoin::kSlowest, {DataType::kBf16});
  const auto first = Curves({both[0]}, DeviceJoin::kSlowest, {DataType::kBf16});
  const auto second = Curves({both[1]}, DeviceJoin::kSlowest, {DataType::kBf16});
  for (size_t c = 0; c < joined.size(); ++c) {
    for (size_t i = 0; i < joined[c].points.size(); ++i) {
      EXPECT_EQ(joined[c].points[i].time.expected,
                std::max(first[c].points[i].time.expected, second[c].points[i].time.expected));
    }
  }
}

// The call is asked whether it is to end before each model, which may take long to fit.
TEST(KernelCurves, EndWhereTheirCallDoes) {
  const PlacedDevice device[] = {PlacedProduct(*AcceleratorNamed("h100-sxm"))};
  for (const int last : {1, 3, 6}) {
    int left = last;
    const auto stop = [&left] {
      return --left > 0 ? absl::OkStatus() : absl::CancelledError("the caller left");
    };
    CallWork work(stop);
    EXPECT_EQ(KernelCurvesOf(device, DeviceJoin::kMedian, kTypes, work).status(),
              absl::CancelledError("the caller left"));
    EXPECT_EQ(left, 0);
  }
}

}  // namespace
}  // namespace sextant
