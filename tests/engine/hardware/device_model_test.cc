#include "engine/hardware/device_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/base/lazy.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/catalogue.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// All threads ask at once, and get the one value.
TEST(Lazy, MakesItsValueOnce) {
  Lazy<int> lazy;
  std::atomic<int> made = 0;
  std::vector<const int*> seen(8);
  std::vector<std::thread> threads;
  for (const int*& each : seen) {
    threads.emplace_back([&] { each = &lazy.Get([&] { return 40 + ++made; }); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  for (const int* each : seen) {
    EXPECT_EQ(each, seen[0]);
    EXPECT_EQ(*each, 41);
  }
}

// 10 us, then 1e12 FLOP/s; but every other shape is `wrong` times as slow.
std::vector<MatmulPoint> Matmuls(double wrong = 1) {
  std::vector<MatmulPoint> out;
  for (const int64_t m : {64, 256, 1024, 4096}) {
    for (const int64_t n : {512, 1024, 2048, 4096, 8192}) {
      const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * 2048;
      out.push_back({{m, n, 2048}, Seconds((1e-5 + flops / 1e12) * (out.size() % 2 ? wrong : 1))});
    }
  }
  return out;
}

DeviceCalibration H100() {
  DeviceCalibration out;
  out.uuid = "GPU-1";
  out.product_name = "NVIDIA H100 80GB HBM3";
  out.accelerator = AcceleratorNamed("h100-sxm");
  return out;
}

// The same predictor is asked again, so nothing was fitted anew.
TEST(DeviceModel, FitsWhatWasMeasuredOnce) {
  const auto model = ModelOf(H100(), {.matmuls = {{DataType::kBf16, Matmuls()}}});
  const auto first = model->Matmuls(DataType::kBf16);
  ASSERT_THAT(first, IsOk());
  ASSERT_NE(*first, nullptr);
  EXPECT_NE((*first)->own_model(), nullptr);
  EXPECT_EQ(*model->Matmuls(DataType::kBf16), *first);
  // Layers of experts and long runs stand on the same fit.
  const auto experts = model->Experts({.type = DataType::kBf16, .gated = true});
  ASSERT_THAT(experts, IsOk());
  EXPECT_EQ(*model->Experts({.type = DataType::kBf16, .gated = true}), *experts);
  EXPECT_NE(*model->Experts({.type = DataType::kBf16, .gated = false}), *experts);
  const ExpertsKind fp8 = {.type = DataType::kFp8E4m3};
  const ExpertsKind blocks = {.type = DataType::kFp8E4m3, .scaling = MatmulScaling::kBlock};
  EXPECT_NE(*model->Experts(blocks), *model->Experts(fp8));
  EXPECT_THAT(model->SustainedDerating(DataType::kBf16), IsOk());
}

TEST(DeviceModel, OfAProductStandsOnWhatIsPublished) {
  const Accelerator& h100 = *AcceleratorNamed("h100-sxm");
  const DeviceModel& model = DeviceModel::OfProduct(h100);
  EXPECT_EQ(&model, &DeviceModel::OfProduct(h100));
  EXPECT_FALSE(model.is_measured());
  EXPECT_EQ(model.accelerator(), &h100);
  for (const Accelerator& each : Accelerators()) {
    EXPECT_EQ(DeviceModel::OfProduct(each).accelerator(), &each);
  }
  const auto matmuls = model.Matmuls(DataType::kBf16);
  ASSERT_THAT(matmuls, IsOk());
  EXPECT_EQ((*matmuls)->source().source, RateSource::kReference);
  EXPECT_EQ(model.SustainedDerating(DataType::kBf16)->expected,
            DeratingOfUnmeasured(&h100, DataType::kBf16).expected);
  // No V100 multiplies in fp8.
  const auto none =
      DeviceModel::OfProduct(*AcceleratorNamed("v100-sxm-16")).Matmuls(DataType::kFp8);
  ASSERT_THAT(none, IsOk());
  EXPECT_EQ(*none, nullptr);
}

// Both scalings of fp8 are kept side by side; other types have one.
TEST(DeviceModel, HasAPredictorOfEachScaling) {
  const DeviceModel& model = DeviceModel::OfProduct(*AcceleratorNamed("h100-sxm"));
  const MatmulType by_block = {DataType::kFp8E4m3, MatmulScaling::kBlock};
  const MatmulPredictor* const block = *model.Matmuls(by_block);
  const MatmulPredictor* const tensor = *model.Matmuls(DataType::kFp8E4m3);
  ASSERT_TRUE(block != nullptr && tensor != nullptr);
  EXPECT_NE(block, tensor);
  EXPECT_EQ(*model.Matmuls(by_block), block);
  EXPECT_EQ(*model.Matmuls({DataType::kFp8, MatmulScaling::kBlock}), block);
  EXPECT_EQ(*model.Matmuls({DataType::kFp8E4m3, MatmulScaling::kTensor}), tensor);
  EXPECT_THAT(block->source().citation, HasSubstr("fp8_block"));
  EXPECT_EQ(*model.Matmuls({DataType::kBf16, MatmulScaling::kBlock}),
            *model.Matmuls(DataType::kBf16));
}

// A second look finds the same fault.
TEST(DeviceModel, KeepsWhatAFitRefuses) {
  std::vector<MatmulPoint> damaged = Matmuls();
  damaged[3].time = Seconds(0);
  const auto model = ModelOf(H100(), {.matmuls = {{DataType::kBf16, damaged}}});
  const absl::Status first = model->Matmuls(DataType::kBf16).status();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(model->Matmuls(DataType::kBf16).status(), first);
  EXPECT_THAT(model->MatmulErrors(), IsEmpty());
  EXPECT_THAT(model->Matmuls(DataType::kFp16).status(), IsOk());
}

TEST(DeviceModel, TellsHowFarItsPredictionsAreOff) {
  const auto errors_of = [](double wrong) {
    return ModelOf(H100(),
                   {.matmuls = {{DataType::kFp8E4m3, {}}, {DataType::kBf16, Matmuls(wrong)}}})
        ->MatmulErrors();
  };
  ASSERT_THAT(errors_of(1), SizeIs(1));
  EXPECT_EQ(errors_of(1)[0].data_type, DataType::kBf16);
  EXPECT_LT(errors_of(1)[0].p90, 0.1);
  EXPECT_GT(errors_of(3)[0].p90, 0.2);
  EXPECT_LE(errors_of(3)[0].median, errors_of(3)[0].p90);
}

// Two sizes of one operation make a line; none is not an error.
TEST(DeviceModel, ModelsItsCollectives) {
  const auto none = ModelOf(H100());
  ASSERT_THAT(none->Collectives(), IsOk());
  EXPECT_FALSE(none->Collectives()->has_value());
  const auto model =
      ModelOf(H100(), {.collectives = {{CollectiveOp::kAllReduce, 8, 1 << 20, 2e-5},
                                       {CollectiveOp::kAllReduce, 8, 1 << 24, 1.2e-4}}});
  ASSERT_THAT(model->Collectives(), IsOk());
  ASSERT_TRUE(model->Collectives()->has_value());
  EXPECT_TRUE((*model->Collectives())->Knows(CollectiveOp::kAllReduce, 8));
}

MeasuredMatmul ProductAt(double flops_per_second, bool stable = true, bool sustained = false) {
  return {.data_type = DataType::kBf16,
          .m = 1024,
          .n = 2048,
          .k = 512,
          .rate = FlopsPerSecond(flops_per_second),
          .relative_spread = 0.0125,
          .sample_count = 12,
          .stable = stable,
          .sustained = sustained,
          .engine = "onednn 2.6.3"};
}

double RateKept(std::initializer_list<MeasuredMatmul> matmuls) {
  DeviceCalibration calibration;
  for (const MeasuredMatmul& matmul : matmuls) calibration.KeepIfBetter(matmul);
  const MeasuredMatmul* kept = calibration.MatmulIn(DataType::kBf16);
  return kept == nullptr ? 0 : kept->rate.value();
}

TEST(DeviceCalibration, KeepsTheRateThatSaysMost) {
  EXPECT_EQ(RateKept({}), 0);
  EXPECT_EQ(RateKept({ProductAt(3), ProductAt(5), ProductAt(4)}), 5);  // the best of the grid
  // Stable before one that is not and at most a ninth faster, in any order; unstable rather
  // than none, or than a much slower one.
  EXPECT_EQ(RateKept({ProductAt(100, false), ProductAt(91), ProductAt(99, false)}), 91);
  EXPECT_EQ(RateKept({ProductAt(91), ProductAt(99, false), ProductAt(100, false)}), 91);
  EXPECT_EQ(RateKept({ProductAt(100, false), ProductAt(89), ProductAt(80, false)}), 100);
  EXPECT_EQ(RateKept({ProductAt(89), ProductAt(80, false), ProductAt(100, false)}), 100);
  EXPECT_EQ(RateKept({ProductAt(8, false), ProductAt(9, false)}), 9);
  // Sustained before any burst, in either order.
  EXPECT_EQ(RateKept({ProductAt(9), ProductAt(4, true, true)}), 4);
  EXPECT_EQ(RateKept({ProductAt(4, false, true), ProductAt(9)}), 4);
}

double FasterBurst(std::initializer_list<MeasuredMatmul> matmuls) {
  DeviceCalibration calibration;
  for (const MeasuredMatmul& matmul : matmuls) calibration.KeepIfBetter(matmul);
  const MeasuredMatmul* burst = calibration.FasterBurstIn(DataType::kBf16);
  return burst == nullptr ? 0 : burst->rate.value();
}

// Sustained wins all the same; but a stable burst a tenth faster says that it was disturbed.
TEST(DeviceCalibration, RemembersTheStableBurstThatCastsDoubt) {
  const MeasuredMatmul unsteady = ProductAt(80, false, true);
  EXPECT_EQ(RateKept({unsteady, ProductAt(100)}), 80);
  EXPECT_EQ(FasterBurst({unsteady, ProductAt(95), ProductAt(100), ProductAt(90)}), 100);
  EXPECT_EQ(FasterBurst({ProductAt(100), unsteady}), 100);
  EXPECT_EQ(FasterBurst({ProductAt(100), ProductAt(80, true, true)}),
            0);                                                  // stable: it is that slow
  EXPECT_EQ(FasterBurst({ProductAt(100, false), unsteady}), 0);  // as doubtful itself
  EXPECT_EQ(FasterBurst({ProductAt(100), ProductAt(90, false, true)}), 0);  // close by
  EXPECT_EQ(FasterBurst({ProductAt(100), ProductAt(89.9, false, true)}), 100);
  EXPECT_EQ(FasterBurst({ProductAt(120, false), ProductAt(100)}), 0);  // nothing sustained
  EXPECT_EQ(FasterBurst({unsteady}), 0);
  EXPECT_EQ(FasterBurst({}), 0);
}

TEST(DeviceCalibration, KeepsDataTypesApart) {
  DeviceCalibration calibration;
  MeasuredMatmul fp32 = ProductAt(2);
  fp32.data_type = DataType::kFp32;
  calibration.KeepIfBetter(fp32);
  calibration.KeepIfBetter(ProductAt(7));
  EXPECT_EQ(calibration.MatmulIn(DataType::kFp32)->rate.value(), 2);
  EXPECT_EQ(calibration.MatmulIn(DataType::kBf16)->rate.value(), 7);
  EXPECT_EQ(calibration.MatmulIn(DataType::kFp16), nullptr);
}

TEST(CitationOf, SaysWhatWasMeasuredHowAndWhen) {
  DeviceCalibration calibration;
  calibration.measured_unix_seconds = 1'769'860'800;
  calibration.probe_version = "sextant-probe 0.1.0";
  EXPECT_EQ(CitationOf(calibration, ProductAt(5)),
            "best matmul 1024x2048x512 by onednn 2.6.3, median of 12 samples, relative spread "
            "0.0125; measured 2026-01-31T12:00:00Z by sextant-probe 0.1.0");
  EXPECT_EQ(CitationOf(calibration, ProductAt(5, true, true)).substr(0, 16), "sustained matmul");
}

}  // namespace
}  // namespace sextant
