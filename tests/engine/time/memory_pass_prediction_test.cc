// Predicted passes over memory, and curves of kernels over their sizes.
#include "engine/time/memory_pass_prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "engine/time/kernel_curves.h"
#include "engine/time/operation_prediction.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/support/note_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr DataType kCurveTypes[] = {DataType::kBf16, DataType::kFp8E4m3};

std::vector<KernelCurve> Curves(absl::Span<const PlacedDevice> devices, DeviceJoin join,
                                absl::Span<const DataType> types) {
  CallWork unstopped;
  return *KernelCurvesOf(devices, join, types, unstopped);
}

std::vector<KernelCurve> CurvesOf(absl::string_view name) {
  const PlacedDevice device[] = {PlacedProduct(*AcceleratorNamed(name))};
  return Curves(device, DeviceJoin::kMedian, kCurveTypes);
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
    EXPECT_EQ(KernelCurvesOf(device, DeviceJoin::kMedian, kCurveTypes, work).status(),
              absl::CancelledError("the caller left"));
    EXPECT_EQ(left, 0);
  }
}

// A GPU whose passes were measured: reads at 3e12, writes at 2.5e12 bytes a second.
class MemoryPassPredictionTest : public ::testing::Test {
 protected:
  absl::optional<OperationPrediction> On(const Operation& operation,
                                         absl::Span<const PlacedDevice> devices,
                                         DeviceJoin join = DeviceJoin::kSlowest) const {
    OperationRequest request = {.operation = operation, .types = {.input = DataType::kBf16}};
    const OperationAnalysis analysis = AnalyzeOperation(request, "").value();
    return PredictMemoryPasses(operation, analysis, devices, join).value();
  }
  absl::optional<OperationPrediction> OnMeasured(const Operation& operation) const {
    const PlacedDevice devices[] = {{.model = model_.get()}};
    return On(operation, devices);
  }

  const std::shared_ptr<const DeviceModel> model_ =
      ModelOf(DeviceCalibration(), {.passes = MadePasses(PlainSeconds)});
};

constexpr double kReading = 1 / 3e12;
constexpr double kWriting = 1 / 2.5e12;

// Two bf16 inputs and an output. The gradients are the output's own: no kernel.
TEST_F(MemoryPassPredictionTest, OfASumIsItsArraysOnce) {
  constexpr double kCount = 1e9;
  const auto sum = OnMeasured(
      Elementwise{.count = 1'000'000'000, .input_count = 2, .function = ElementwiseFunction::kAdd});
  ASSERT_TRUE(sum.has_value());
  EXPECT_TRUE(sum->memory_pass);
  EXPECT_NEAR(sum->forward.expected.value(), kCount * (4 * kReading + 2 * kWriting), 1e-6);
  EXPECT_EQ(sum->forward.basis, KernelBasis::kWithinGrid);
  EXPECT_EQ(sum->backward.expected.value(), 0);
  ASSERT_EQ(sum->nearest.size(), 3U);
  // Two arrays read and one written: a triad of 1 GiB each is the nearest.
  const auto* const near = std::get_if<StreamWork>(&sum->nearest[0].work);
  ASSERT_NE(near, nullptr);
  EXPECT_EQ(near->read_bytes, 2 * near->written_bytes);
  const auto product = OnMeasured(Elementwise{
      .count = 1'000'000'000, .input_count = 2, .function = ElementwiseFunction::kMultiply});
  // dy, a and b read, da and db written.
  EXPECT_NEAR(product->backward.expected.value(), kCount * (6 * kReading + 4 * kWriting), 1e-5);
}

// fp32 state twice and a bf16 gradient and weight: 2 + 2 + 8 bytes read, 2 + 8 written.
TEST_F(MemoryPassPredictionTest, OfAnUpdateHasItsOwnMix) {
  constexpr double kCount = 1e9;
  const auto update = OnMeasured(OptimizerUpdate{.parameters = 1'000'000'000});
  ASSERT_TRUE(update.has_value());
  EXPECT_NEAR(update->forward.expected.value(), kCount * (12 * kReading + 10 * kWriting), 1e-5);
}

// The unfused form of softmax moves its matrix five times, and sums rows up with effort.
TEST_F(MemoryPassPredictionTest, OfSoftmaxIsOneKernelOrFive) {
  const auto softmax = OnMeasured(Softmax{.rows = 65536, .columns = 8192});
  ASSERT_TRUE(softmax.has_value());
  const double pass = 65536.0 * 8192 * 2 * (kReading + kWriting);
  EXPECT_NEAR(softmax->forward.expected.value(), 1.2 * pass, 0.01 * pass);
  ASSERT_TRUE(softmax->unfused.has_value());
  EXPECT_GT(softmax->unfused->expected, softmax->forward.expected * 3.0);
  EXPECT_GT(softmax->backward.expected, softmax->forward.expected);
}

TEST_F(MemoryPassPredictionTest, OfEveryOperationWithoutProductsThereIsOne) {
  const std::vector<Operation> all = {
      Elementwise{.count = 1000, .input_count = 3},
      FusedChain{.count = 1000, .steps = {ChainStep{}}},
      Reduction{.outer = 10, .reduced = 100},
      Softmax{.rows = 10, .columns = 100},
      LayerNorm{.rows = 10, .columns = 100},
      RmsNorm{.rows = 10, .columns = 100},
      Activation{.function = ActivationFunction::kGeluErf, .count = 1000},
      SwiGlu{.rows = 10, .columns = 100},
      Rotary{.tokens = 10, .heads = 4, .head_size = 64},
      Dropout{.count = 1000},
      EmbeddingLookup{.tokens = 10, .vocabulary = 100, .width = 64},
      CrossEntropy{.tokens = 10, .vocabulary = 100},
      OptimizerUpdate{.parameters = 1000}};
  for (const Operation& operation : all) {
    const auto prediction = OnMeasured(operation);
    ASSERT_TRUE(prediction.has_value()) << OperationName(operation);
    // So little takes what the shortest pass did.
    EXPECT_GE(prediction->forward.high, Seconds(2e-6)) << OperationName(operation);
    EXPECT_LT(prediction->forward.expected, Seconds(2.5e-6)) << OperationName(operation);
  }
  EXPECT_FALSE(OnMeasured(Matmul{.m = 64, .n = 64, .k = 64}).has_value());
  EXPECT_FALSE(OnMeasured(HostCopy{.bytes = 1000, .link = BytesPerSecond(1e9)}).has_value());
}

TEST_F(MemoryPassPredictionTest, OfSeveralDevicesOneDecides) {
  const PlacedDevice a100 = PlacedProduct(*AcceleratorNamed("a100-sxm-80"));
  const PlacedDevice h200 = PlacedProduct(*AcceleratorNamed("h200-sxm"));
  const PlacedDevice b200 = PlacedProduct(*AcceleratorNamed("b200-sxm"));
  const PlacedDevice all[] = {b200, a100, h200};
  const Operation relu = Activation{.count = int64_t{1} << 32};
  EXPECT_EQ(On(relu, all)->source.device, "a100-sxm-80");
  EXPECT_EQ(On(relu, all)->device, 1U);
  EXPECT_EQ(On(relu, all, DeviceJoin::kMedian)->source.device, "h200-sxm");
  const PlacedDevice unknown[] = {b200, {}};
  EXPECT_FALSE(On(relu, unknown).has_value());
  EXPECT_FALSE(On(relu, {}).has_value());
}

TEST_F(MemoryPassPredictionTest, SustainedSlowsProductsAndNoPasses) {
  const PlacedDevice h100 = PlacedProduct(*AcceleratorNamed("h100-sxm"));
  const PlacedDevice devices[] = {h100};
  auto relu = On(Activation{.count = int64_t{1} << 30}, devices);
  const KernelTime burst_pass = relu->forward;
  const auto of_pass = MakeSustained(h100, DataType::kBf16, *relu);
  ASSERT_THAT(of_pass, IsOk());
  EXPECT_EQ(relu->regime, KernelRegime::kSustained);
  EXPECT_EQ(relu->forward.expected, burst_pass.expected);
  auto product = PredictOperation(Matmul{.m = 8192, .n = 8192, .k = 8192},
                                  {.input = DataType::kBf16}, devices, DeviceJoin::kSlowest)
                     .value();
  const KernelTime burst = product->forward;
  const auto of_product = MakeSustained(h100, DataType::kBf16, *product);
  ASSERT_THAT(of_product, IsOk());
  EXPECT_EQ(of_pass->kind, NoteKind::kSustainedTimes);
  EXPECT_THAT(*of_product, IsNote(NoteKind::kSustainedTimes, HasSubstr("1.1 times a burst's")));
  // 0.87 over 0.80 of the peak, of what is nearly arithmetic alone.
  EXPECT_NEAR(product->forward.expected.value() / burst.expected.value(), 0.87 / 0.80, 0.02);
  EXPECT_GE(product->forward.low, burst.low);
  EXPECT_LT(product->forward.low, product->forward.expected);
  EXPECT_GT(product->forward.high, burst.high);
}

// A kernel of one number is bound by its launch, one of a row by memory.
TEST_F(MemoryPassPredictionTest, SustainedSlowsNoProductsThatAreNotArithmetic) {
  const PlacedDevice b200 = PlacedProduct(*AcceleratorNamed("b200-sxm"));
  const PlacedDevice devices[] = {b200};
  for (const Matmul& small : {Matmul{1, 1, 1}, Matmul{1, 16384, 16384}}) {
    auto product =
        PredictOperation(small, {.input = DataType::kBf16}, devices, DeviceJoin::kSlowest).value();
    const Seconds burst = product->forward.expected;
    ASSERT_THAT(MakeSustained(b200, DataType::kBf16, *product), IsOk());
    EXPECT_LT(product->forward.expected, burst * 1.01);
  }
}

// Attention is expected to lose no more than the neutral value, whatever products of the device do.
TEST_F(MemoryPassPredictionTest, SustainedAttentionLosesTheNeutralAtMost) {
  const PlacedDevice b200 = PlacedProduct(*AcceleratorNamed("b200-sxm"));
  const PlacedDevice devices[] = {b200};
  const Attention attention = {.batch = 2,
                               .heads = 32,
                               .kv_heads = 8,
                               .query_length = 8192,
                               .key_length = 8192,
                               .head_size = 128,
                               .causal = true};
  auto kernel =
      PredictOperation(attention, {.input = DataType::kBf16}, devices, DeviceJoin::kSlowest)
          .value();
  const Seconds burst = kernel->forward.expected;
  ASSERT_THAT(MakeSustained(b200, DataType::kBf16, *kernel), IsOk());
  EXPECT_NEAR(kernel->forward.expected.value(), burst.value() * kNeutralDerating, 1e-12);
}

}  // namespace
}  // namespace sextant
