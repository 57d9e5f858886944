#include "engine/hardware/known_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <string>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/rates.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

const Accelerator& H100() { return *AcceleratorNamed("h100-sxm"); }

// The published curves of H100s.
std::shared_ptr<const DeviceModel> Published() { return BestCurvesOf(H100(), {}); }

double ProductTime(const DeviceModel& model, const MatmulShape& shape,
                   DataType type = DataType::kBf16) {
  return (*model.Matmuls(type))->Predict(shape).expected.value();
}

// FLOP/s of the best large product.
double BestRate(const DeviceModel& model, DataType type) {
  double best = 0;
  for (const int64_t size : {4096, 8192, 16384}) {
    const MatmulShape square = {size, size, size};
    best = std::max(best, MatmulFlops(square).value() / ProductTime(model, square, type));
  }
  return best;
}

FlopsPerSecond PublishedBurst(DataType type) {
  return FlopsPerSecond(BestRate(*Published(), type));
}

constexpr StreamWork kCopy = {.read_bytes = 1 << 30, .written_bytes = 1 << 30};

double CopyTime(const DeviceModel& model) {
  const StreamPredictor& streams = **model.Streams(DataType::kBf16);
  return streams.Predict(kCopy, StreamKind::kElementwise).expected.value();
}

KnownRates RatesOf(double share_of_burst) {
  return {.uuid = "GPU-1",
          .hostname = "node7",
          .product_name = "NVIDIA H100 80GB HBM3",
          .accelerator = &H100(),
          .origin = "its host, by the fleet's metrics",
          .measured_unix_seconds = 1'769'860'800,
          .bf16_burst = FlopsPerSecond(share_of_burst * PublishedBurst(DataType::kBf16).value())};
}

std::shared_ptr<const DeviceModel> Scaled(const KnownRates& rates) {
  auto out = DeviceOfRates(rates, Published());
  EXPECT_THAT(out, IsOk());
  return *std::move(out);
}

TEST(DeviceOfRates, TheRatesOfTheCurvesChangeNoTime) {
  KnownRates rates = RatesOf(1);
  rates.memory_copy = BytesPerSecond(kCopy.bytes() / CopyTime(*Published()));
  const auto model = Scaled(rates);
  for (const MatmulShape& shape : {MatmulShape{8192, 8192, 8192}, MatmulShape{16, 4096, 4096}}) {
    EXPECT_NEAR(ProductTime(*model, shape) / ProductTime(*Published(), shape), 1, 1e-12);
  }
  EXPECT_NEAR(CopyTime(*model) / CopyTime(*Published()), 1, 1e-12);
}

// A product of 16,384 is bound by arithmetic but for 2 %, one with a single row by its bytes.
TEST(DeviceOfRates, ScalesArithmeticByProductsAndBytesByCopies) {
  KnownRates rates = RatesOf(0.8);
  rates.memory_copy = BytesPerSecond(0.5 * kCopy.bytes() / CopyTime(*Published()));
  const auto model = Scaled(rates);
  const auto ratio = [&](const MatmulShape& shape) {
    return ProductTime(*model, shape) / ProductTime(*Published(), shape);
  };
  EXPECT_NEAR(ratio({16384, 16384, 16384}), 1.25, 0.02);
  EXPECT_NEAR(ratio({1, 16384, 16384}), 2, 0.02);
  const double between = ratio({512, 8192, 8192});
  EXPECT_GT(between, 1.25);
  EXPECT_LT(between, 2);
  EXPECT_NEAR(CopyTime(*model) / CopyTime(*Published()), 2, 1e-9);
  const AttentionShape shape = {.batch = 1,
                                .sequence = 4096,
                                .key_sequence = 4096,
                                .heads = 32,
                                .key_value_heads = 32,
                                .query_key_head_size = 128,
                                .value_head_size = 128,
                                .causal = true};
  const auto attention = [&](const DeviceModel& of) {
    const AttentionPredictor& by = **of.Attention(DataType::kBf16);
    return (by.Predict(shape).expected + by.PredictBackward(shape).expected).value();
  };
  EXPECT_NEAR(attention(*model) / attention(*Published()), 1.25, 1e-9);
}

TEST(DeviceOfRates, TheIntervalKeepsItsShare) {
  const auto model = Scaled(RatesOf(0.5));
  const MatmulShape shape = {8192, 8192, 8192};
  const KernelTime own = (*model->Matmuls(DataType::kBf16))->Predict(shape);
  const KernelTime published = (*Published()->Matmuls(DataType::kBf16))->Predict(shape);
  const double ratio = own.expected.value() / published.expected.value();
  EXPECT_NEAR(own.low.value() / published.low.value(), ratio, 1e-12);
  EXPECT_NEAR(own.high.value() / published.high.value(), ratio, 1e-12);
}

TEST(DeviceOfRates, ExpertsAreScaledOnce) {
  const ExpertsKind kind = {.type = DataType::kBf16};
  const GroupedMatmulShape shape = {
      .tokens = 65536, .hidden = 4096, .intermediate = 14336, .experts_per_token = 2, .experts = 8};
  const auto model = Scaled(RatesOf(0.5));
  const double ratio = (*model->Experts(kind))->Predict(shape).expected.value() /
                       (*Published()->Experts(kind))->Predict(shape).expected.value();
  EXPECT_GT(ratio, 1.8);
  EXPECT_LE(ratio, 2);
}

TEST(DeviceOfRates, ABurstAndASustainedRateAreItsSlowdown) {
  KnownRates rates = RatesOf(0.9);
  rates.bf16_sustained = FlopsPerSecond(rates.bf16_burst->value() / 1.3);
  const auto model = Scaled(rates);
  EXPECT_DOUBLE_EQ(model->SustainedDerating(DataType::kBf16)->expected, 1.3);
  EXPECT_DOUBLE_EQ(model->SustainedDerating(DataType::kBf16)->high, 1.3);
  // Nothing is known of fp8: the product's derating.
  EXPECT_EQ(model->SustainedDerating(DataType::kFp8E4m3)->expected,
            Published()->SustainedDerating(DataType::kFp8E4m3)->expected);
  // A plan takes the sustained one.
  EXPECT_EQ(model->calibration().MatmulIn(DataType::kBf16)->rate, *rates.bf16_sustained);
}

// Its large products reach the sustained rate after the product's own slowdown.
TEST(DeviceOfRates, ASustainedRateAloneIsThatOfLongRuns) {
  KnownRates rates = RatesOf(1);
  rates.bf16_burst.reset();
  rates.bf16_sustained = FlopsPerSecond(500e12);
  const auto model = Scaled(rates);
  const double slowdown = model->SustainedDerating(DataType::kBf16)->expected;
  EXPECT_NEAR(BestRate(*model, DataType::kBf16) / slowdown / 500e12, 1, 0.02);
}

TEST(DeviceOfRates, Fp8HasAScaleOfItsOwn) {
  KnownRates rates = RatesOf(1);
  const double slowdown = Published()->SustainedDerating(DataType::kFp8E4m3)->expected;
  const double published = PublishedBurst(DataType::kFp8E4m3).value() / slowdown;
  rates.fp8_sustained = FlopsPerSecond(published / 2);
  const auto model = Scaled(rates);
  const MatmulShape shape = {16384, 16384, 16384};
  EXPECT_NEAR(ProductTime(*model, shape, DataType::kFp8E4m3) /
                  ProductTime(*Published(), shape, DataType::kFp8E4m3),
              2, 0.05);
  EXPECT_NEAR(ProductTime(*model, shape) / ProductTime(*Published(), shape), 1, 1e-12);
  // Other types follow the products in bf16.
  EXPECT_NEAR(model->calibration().MatmulIn(DataType::kFp16)->rate.value(),
              PublishedBurst(DataType::kFp16).value() /
                  Published()->SustainedDerating(DataType::kFp16)->expected,
              1e6);
}

TEST(DeviceOfRates, SaysWhoseItIs) {
  KnownRates rates = RatesOf(0.9);
  rates.memory = Bytes(85'000'000'000);
  rates.stable = false;
  const auto model = Scaled(rates);
  const DeviceCalibration& own = model->calibration();
  EXPECT_EQ(own.uuid, "GPU-1");
  EXPECT_EQ(own.hostname, "node7");
  EXPECT_EQ(own.memory, Bytes(85'000'000'000));
  EXPECT_FALSE(own.MatmulIn(DataType::kBf16)->stable);
  EXPECT_EQ(CitationOf(own, *own.MatmulIn(DataType::kBf16)),
            "best matmul rate; measured 2026-01-31T12:00:00Z by its host, by the fleet's metrics");
  EXPECT_THAT((*model->Matmuls(DataType::kBf16))->source().citation,
              HasSubstr("; scaled to this device's own rates: arithmetic takes 1.111 times as "
                        "long, moving bytes 1.000 times"));
  EXPECT_NE(own.fingerprint, Scaled(RatesOf(0.8))->calibration().fingerprint);
}

TEST(DeviceOfRates, HostCopiesHaveTheirRates) {
  KnownRates rates = RatesOf(1);
  rates.copy_to_device = BytesPerSecond(50e9);
  rates.copy_from_device = BytesPerSecond(40e9);
  // Less the latency of one copy of a GiB.
  EXPECT_NEAR(SlowerHostCopyRate(Scaled(rates)->kernels().host_copies)->value(), 40e9, 1e-3 * 40e9);
}

TEST(DeviceOfRates, HasTheProductsMemoryWhereNoneIsTold) {
  EXPECT_EQ(static_cast<double>(Scaled(RatesOf(1))->calibration().memory.value()),
            H100().reported_memory_bytes.value);
  for (const int64_t wrong : {int64_t{1}, int64_t{1} << 29, int64_t{1} << 60}) {
    KnownRates rates = RatesOf(1);
    rates.memory = Bytes(wrong);
    EXPECT_THAT(DeviceOfRates(rates, Published()).status().message(), HasSubstr("the memory is"));
  }
}

TEST(DeviceOfRates, RefusesWhatIsNoRate) {
  const auto status = [](const KnownRates& rates) {
    return DeviceOfRates(rates, Published()).status();
  };
  KnownRates none = RatesOf(1);
  none.bf16_burst.reset();
  EXPECT_THAT(status(none).message(), HasSubstr("no rate in bf16 is known"));
  for (const double wrong :
       {0.0, -1.0, 0.5, 2e18, std::nan(""), std::numeric_limits<double>::infinity()}) {
    KnownRates rates = RatesOf(1);
    rates.bf16_burst = FlopsPerSecond(wrong);
    EXPECT_THAT(status(rates).message(), HasSubstr("the burst rate in bf16 is")) << wrong;
    rates = RatesOf(1);
    rates.memory_copy = BytesPerSecond(wrong);
    EXPECT_THAT(status(rates).message(), HasSubstr("the rate of copies in memory is")) << wrong;
  }
  KnownRates fast = RatesOf(1);
  fast.bf16_burst = FlopsPerSecond(1.2 * 989.4e12);
  EXPECT_THAT(status(fast).message(), HasSubstr("more than the datasheet's"));
  KnownRates other = RatesOf(1);
  other.accelerator = AcceleratorNamed("a100-sxm-80");
  EXPECT_THAT(status(other).message(), HasSubstr("of another product"));
}

// 20 products, as fast as 400 TFLOP/s.
std::shared_ptr<const DeviceModel> Measured(size_t count, const Accelerator& accelerator) {
  DeviceCalibration calibration;
  calibration.uuid = "GPU-measured";
  calibration.accelerator = &accelerator;
  calibration.KeepIfBetter({.data_type = DataType::kBf16,
                            .m = 8192,
                            .n = 8192,
                            .k = 8192,
                            .rate = FlopsPerSecond(400e12),
                            .stable = true});
  MeasuredMatmulPoints points = {.data_type = DataType::kBf16, .matmuls = {}};
  for (int64_t m = 256; points.matmuls.size() < count; m += 256) {
    const MatmulShape shape = {m, 4096, 4096};
    points.matmuls.push_back({shape, Seconds(5e-6 + MatmulFlops(shape).value() / 400e12)});
  }
  return ModelOf(std::move(calibration), {.matmuls = {points}});
}

TEST(BestCurvesOf, ThoseWithTheMostPointsThenThePublished) {
  const auto few = Measured(15, H100());
  const auto some = Measured(16, H100());
  const auto more = Measured(20, H100());
  const auto other = Measured(30, *AcceleratorNamed("h200-sxm"));
  EXPECT_EQ(BestCurvesOf(H100(), {few, some, more, other}), more);
  EXPECT_EQ(BestCurvesOf(H100(), {few, other}).get(), &DeviceModel::OfProduct(H100()));
}

// A device at three quarters of the measured one's burst takes four thirds of its time.
TEST(DeviceOfRates, TakesTheBurstOfMeasuredCurves) {
  KnownRates rates = RatesOf(1);
  rates.bf16_burst = FlopsPerSecond(300e12);
  const auto curves = Measured(20, H100());
  const auto model = DeviceOfRates(rates, curves);
  ASSERT_THAT(model, IsOk());
  const MatmulShape shape = {16384, 16384, 16384};
  EXPECT_NEAR(ProductTime(**model, shape) / ProductTime(*curves, shape), 4.0 / 3, 0.01);
}

Rate SomeRate() {
  return {.quantity = "peak_flops_per_second",
          .data_type = DataType::kBf16,
          .value = 989.4e12,
          .unit = "FLOP/s",
          .source = RateSource::kDatasheet,
          .citation = "a datasheet",
          .device = "h100-sxm"};
}

std::string FingerprintOf(const Rate& rate) { return RatesFingerprint({&rate, 1}); }

TEST(RatesFingerprint, IsThatOfEqualRates) {
  EXPECT_EQ(FingerprintOf(SomeRate()), FingerprintOf(SomeRate()));
}

// Any one field of a rate, changed alone, changes the fingerprint.
TEST(RatesFingerprint, SeesEveryField) {
  const std::function<void(Rate&)> changes[] = {
      [](Rate& r) { r.quantity = "memory_bytes"; },
      [](Rate& r) { r.data_type = DataType::kFp16; },
      [](Rate& r) { r.value = 989.5e12; },
      [](Rate& r) { r.unit = "W"; },
      [](Rate& r) { r.source = RateSource::kRequest; },
      [](Rate& r) { r.citation = "another datasheet"; },
      [](Rate& r) { r.device = "h200-sxm"; },
  };
  for (const auto& change : changes) {
    Rate rate = SomeRate();
    change(rate);
    EXPECT_NE(FingerprintOf(rate), FingerprintOf(SomeRate())) << rate.quantity << rate.value;
  }
}

// All kinds of source, and any one fact of a measurement: no two fingerprints are the same.
TEST(RatesFingerprint, SeesEverySourceAndEveryFactOfAMeasurement) {
  std::set<std::string> seen;
  for (const RateSource source :
       {RateSource::kMeasuredSupplied, RateSource::kMeasuredDevice, RateSource::kMeasuredModel,
        RateSource::kReference, RateSource::kDatasheet, RateSource::kRequest}) {
    Rate rate = SomeRate();
    rate.source = source;
    seen.insert(FingerprintOf(rate));
  }
  const std::function<void(Measurement&)> changes[] = {
      [](Measurement&) {},
      [](Measurement& m) { m.relative_spread = 0.01; },
      [](Measurement& m) { m.relative_spread = 0.02; },
      [](Measurement& m) { m.stable = true; },
      [](Measurement& m) { m.stable = false; },
      [](Measurement& m) { m.unix_seconds = 1; },
      [](Measurement& m) { m.device_uuid = "CPU-1"; },
      [](Measurement& m) { m.calibration_fingerprint = "CPU-1"; },
  };
  for (const auto& change : changes) {
    Rate rate = SomeRate();
    change(rate.measured.emplace());
    seen.insert(FingerprintOf(rate));
  }
  EXPECT_EQ(seen.size(), 6 + std::size(changes));
}

TEST(RatesFingerprint, SeesHowManyRatesThereAre) {
  const Rate two[] = {SomeRate(), SomeRate()};
  EXPECT_NE(RatesFingerprint(two), FingerprintOf(SomeRate()));
  EXPECT_NE(RatesFingerprint({}), FingerprintOf(SomeRate()));
}

}  // namespace
}  // namespace sextant
