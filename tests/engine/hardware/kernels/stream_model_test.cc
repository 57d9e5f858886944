#include "engine/hardware/kernels/stream_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/base/field_violation.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kGibi = 1 << 30;

StreamModel Made(const StreamCalibration& calibration) {
  const absl::StatusOr<StreamModel> model = StreamModel::Of(calibration);
  EXPECT_THAT(model.status(), IsOk());
  return *model;
}

KernelTime Elementwise(const StreamModel& model, const StreamWork& work) {
  return model.Predict(work, StreamKind::kElementwise);
}

TEST(StreamModel, GivesMeasuredPassesBack) {
  const StreamCalibration calibration = MadePasses(PlainSeconds);
  const StreamModel model = Made(calibration);
  for (const MeasuredStream& stream : calibration.streams) {
    const KernelTime time = Elementwise(model, WorkOf(stream));
    EXPECT_NEAR(time.expected.value() / stream.time.value(), 1, 1e-6) << stream.array_bytes;
    EXPECT_EQ(time.basis, KernelBasis::kWithinGrid);
  }
}

// Reads and writes one after the other: time is linear in the share of either, so that all mixes
// come out, among them those of an optimizer's update and of a kernel of three inputs.
TEST(StreamModel, KnowsEveryMixOfReadsAndWrites) {
  const StreamModel model = Made(MadePasses(PlainSeconds));
  for (const double share : {0.0, 0.1, 0.3, 0.5, 16.0 / 28, 0.6, 0.75, 0.9, 1.0}) {
    for (const double bytes : {3 * kGibi, 64 * kGibi}) {
      const StreamWork work = {share * bytes, (1 - share) * bytes};
      EXPECT_NEAR(Elementwise(model, work).expected.value() / PlainSeconds(work), 1, 1e-6) << share;
    }
  }
}

TEST(StreamModel, AddsArithmeticAsTheLadderDoes) {
  const StreamModel model = Made(MadePasses(PlainSeconds));
  EXPECT_NEAR(model.arithmetic().softness, 3, 1e-9);
  EXPECT_NEAR(1 / model.arithmetic().seconds_per_flop, 4e13, 1e9);
  for (const double intensity : {0.1, 3.0, 12.0, 15.0, 50.0, 1e4}) {
    const StreamWork work = {4 * kGibi, 4 * kGibi, intensity * 8 * kGibi};
    EXPECT_NEAR(Elementwise(model, work).expected.value() / PlainSeconds(work), 1, 1e-3)
        << intensity;
  }
}

TEST(StreamModel, HasTheShortestPassForAFloor) {
  const StreamModel model = Made(MadePasses(PlainSeconds));
  for (const double bytes : {0.0, 1.0, 1000.0, 100000.0}) {
    EXPECT_NEAR(Elementwise(model, {bytes / 2, bytes / 2}).expected.value(), 2e-6, 1e-12) << bytes;
  }
  EXPECT_EQ(Elementwise(model, {500, 500}).basis, KernelBasis::kOutsideGrid);
}

// Where only large passes were measured: 3 us on a GPU, and a call on a processor.
TEST(StreamModel, WithoutAShortPassTakesAStatedFloor) {
  StreamCalibration calibration;
  calibration.streams = {{StreamPattern::kCopy, int64_t{1} << 30, true, Seconds(1e-3)}};
  EXPECT_NEAR(Elementwise(Made(calibration), {1, 1}).expected.value(), 3e-6, 1e-11);
  calibration.processor = true;
  EXPECT_NEAR(Elementwise(Made(calibration), {1, 1}).expected.value(), 1e-7, 1e-11);
}

// Four times as fast within 16 MiB, and nothing measured between that and 1 GiB.
TEST(StreamModel, KnowsCachesAndWhereTheyEnd) {
  const auto cached = [](const StreamWork& work) {
    return 1e-9 + work.bytes() / (work.bytes() <= 16.0 * (1 << 20) ? 8e12 : 2e12);
  };
  StreamCalibration calibration = MadePasses(cached);
  std::erase_if(calibration.streams, [](const MeasuredStream& stream) {
    return stream.array_bytes > (8 << 20) && stream.array_bytes < (1 << 30);
  });
  const auto rate = [](const StreamModel& model, double bytes) {
    return bytes / Elementwise(model, {bytes / 2, bytes / 2}).expected.value();
  };
  const double small = 4.0 * (1 << 20);
  const double large = 256.0 * (1 << 20);
  const StreamModel blind = Made(calibration);
  EXPECT_NEAR(rate(blind, small), 8e12, 0.05e12);
  EXPECT_GT(rate(blind, large), 2.2e12);  // somewhere between
  EXPECT_LT(rate(blind, large), 8e12);
  EXPECT_LE(rate(blind, 1000), 8.1e12);  // never better than the best plateau
  calibration.cache_bytes = 16.0 * (1 << 20);
  const StreamModel knowing = Made(calibration);
  EXPECT_NEAR(rate(knowing, small), 8e12, 0.05e12);
  EXPECT_NEAR(rate(knowing, large), 2e12, 0.01e12);
  EXPECT_NEAR(rate(knowing, 64.0 * (1 << 20)), 2e12, 0.01e12);
}

TEST(StreamModel, TellsItsErrorOfPassesThatItHasNotSeen) {
  const PredictionError exact = Made(MadePasses(PlainSeconds)).error();
  // Twelve streams and eight steps, but a copy of the smallest size, reads and writes, which
  // nothing lies around.
  EXPECT_EQ(exact.shape_count, 12 + 8 - 3);
  EXPECT_LT(exact.median_absolute, 0.02);
  int64_t inside = 0;
  constexpr int kDevices = 40;
  for (unsigned seed = 0; seed < kDevices; ++seed) {
    const StreamModel noisy = Made(MadePasses(PlainSeconds, 0.1, seed));
    EXPECT_GT(noisy.error().p90_absolute, 0.03);
    const StreamWork work = {2 * kGibi, kGibi, 8 * kGibi};
    const KernelTime time = Elementwise(noisy, work);
    inside += time.low.value() <= PlainSeconds(work) && PlainSeconds(work) <= time.high.value();
  }
  EXPECT_GE(inside, kDevices * 3 / 4);
}

TEST(StreamModel, OfFewPassesStatesItsErrorAndWidensWhatTheyLack) {
  StreamCalibration calibration;
  calibration.streams = {{StreamPattern::kCopy, int64_t{1} << 30, true, Seconds(1e-3)}};
  const StreamModel model = Made(calibration);
  EXPECT_EQ(model.error().shape_count, 0);
  const KernelTime copy = Elementwise(model, {kGibi, kGibi});
  const KernelTime read = Elementwise(model, {2 * kGibi, 0});
  EXPECT_EQ(copy.basis, KernelBasis::kWithinGrid);
  EXPECT_EQ(read.basis, KernelBasis::kOutsideGrid);
  EXPECT_EQ(copy.expected, read.expected);
  EXPECT_LT(read.low, copy.low);
  EXPECT_GT(read.high, copy.high);
  // 4.3e9 FLOPs whose rate nobody knows.
  EXPECT_GT(Elementwise(model, {kGibi, kGibi, 4 * kGibi}).high, copy.high);
  const KernelTime rows = model.Predict({kGibi, kGibi}, StreamKind::kRows);
  EXPECT_GT(rows.expected, copy.expected);
  EXPECT_NEAR(rows.low.value(), copy.low.value(), 1e-12);
  EXPECT_GT(rows.high, copy.high * 1.4);
}

TEST(StreamModel, TheOrderOfPassesDoesNotMatter) {
  StreamCalibration calibration = MadePasses(PlainSeconds, 0.1);
  const StreamModel model = Made(calibration);
  std::shuffle(calibration.streams.begin(), calibration.streams.end(), std::mt19937(4));
  const StreamModel other = Made(calibration);
  for (double bytes = 1; bytes < 1e13; bytes *= 3) {
    const StreamWork work = {0.7 * bytes, 0.3 * bytes, bytes};
    EXPECT_NEAR(Elementwise(model, work).high.value() / Elementwise(other, work).high.value(), 1,
                1e-12);
  }
}

TEST(StreamModel, NamesTheNearestPasses) {
  const StreamModel model = Made(MadePasses(PlainSeconds));
  const auto near = model.Nearest({2 * kGibi, kGibi}, 2);
  ASSERT_EQ(near.size(), 2U);
  EXPECT_EQ(near[0].work.read_bytes, 2 * kGibi);  // a triad
  EXPECT_EQ(near[0].work.written_bytes, kGibi);
  EXPECT_EQ(near[0].work.flops, 0);
  const auto busy = model.Nearest({kGibi / 4, kGibi / 4, 17 * kGibi / 4}, 1);
  // 32 multiply-adds an element of 4 bytes, 64 FLOP.
  EXPECT_EQ(busy[0].work.bytes(), 2 * kGibi / 4);
  EXPECT_EQ(busy[0].work.flops, 64 * kGibi / 4 / 4);
  EXPECT_THAT(StreamModel::OfRates({.memory = BytesPerSecond(1e12)}).Nearest({1, 1}, 3), IsEmpty());
}

TEST(StreamModel, OfRatesIsTheirRoofAndAFloor) {
  const StreamModel model = StreamModel::OfRates({.memory = BytesPerSecond(2e12),
                                                  .arithmetic = FlopsPerSecond(1e13),
                                                  .error = {.p10 = 0.9, .p90 = 1.3}});
  const KernelTime time = Elementwise(model, {1e12, 1e12});
  EXPECT_EQ(time.basis, KernelBasis::kDatasheet);
  EXPECT_NEAR(time.expected.value(), 1, 1e-5);
  EXPECT_NEAR(time.low.value(), 0.9, 1e-5);
  EXPECT_NEAR(time.high.value(), 1.3, 1e-5);
  EXPECT_NEAR(Elementwise(model, {1e12, 1e12, 1e13}).expected.value(), std::sqrt(2), 1e-5);
  EXPECT_NEAR(Elementwise(model, {0, 10}).expected.value(), 3e-6, 1e-10);
}

// Measured by sextant-probe --mode=standard on two cores of an AMD EPYC with AVX-512, on a host
// with other users.
StreamCalibration Processor() {
  StreamCalibration out = {.processor = true, .cache_bytes = 33554432};
  out.streams = {{StreamPattern::kCopy, 268435456, true, Seconds(0.01129)},
                 {StreamPattern::kRead, 268435456, true, Seconds(0.008455)},
                 {StreamPattern::kWrite, 268435456, true, Seconds(0.009656)},
                 {StreamPattern::kScale, 268435456, true, Seconds(0.01123)},
                 {StreamPattern::kTriad, 268435456, true, Seconds(0.02727)},
                 {StreamPattern::kCopy, 16384, false, Seconds(9.884e-08)},
                 {StreamPattern::kCopy, 524288, false, Seconds(6.367e-06)},
                 {StreamPattern::kCopy, 4194304, false, Seconds(5.485e-05)}};
  out.ladder = {{1, 134217728, Seconds(0.005722)},  {2, 134217728, Seconds(0.005185)},
                {4, 134217728, Seconds(0.005455)},  {8, 134217728, Seconds(0.005787)},
                {16, 134217728, Seconds(0.006823)}, {32, 134217728, Seconds(0.01268)},
                {64, 134217728, Seconds(0.02454)},  {128, 134217728, Seconds(0.04529)}};
  return out;
}

// The same run's chain of four operations on 64 MiB of fp32, which no fit has seen: s x, + bias,
// a polynomial of 5 FLOPs, + residual.
TEST(StreamModel, ForetellsAChainOfAProcessor) {
  const StreamModel model = Made(Processor());
  EXPECT_EQ(model.error().shape_count, 13);
  EXPECT_LT(model.error().median_absolute, 0.1);
  const double n = 16.0 * (1 << 20);
  const KernelTime fused = Elementwise(model, {8 * n, 4 * n, 8 * n});
  EXPECT_NEAR(fused.expected.value() / 0.006295, 1, 0.15);
  double unfused = 0;
  for (const StreamWork& work : {StreamWork{4 * n, 4 * n, n}, StreamWork{4 * n, 4 * n, n},
                                 StreamWork{4 * n, 4 * n, 5 * n}, StreamWork{8 * n, 4 * n, n}}) {
    unfused += Elementwise(model, work).expected.value();
  }
  EXPECT_NEAR(unfused / 0.01404, 1, 0.15);
}

TEST(StreamModel, RefusesDamagedPassesAllTogether) {
  StreamCalibration calibration = MadePasses(PlainSeconds);
  calibration.streams[1].time = Seconds(std::numeric_limits<double>::quiet_NaN());
  calibration.streams[2].array_bytes = 0;
  calibration.ladder[3].time = Seconds(-1);
  calibration.ladder[4].multiply_adds = 0;
  std::vector<std::string> fields;
  for (const FieldViolation& fault : FieldViolationsOf(StreamModel::Of(calibration).status())) {
    fields.push_back(fault.field);
  }
  EXPECT_THAT(fields,
              ElementsAre("calibration.streams[1].seconds", "calibration.streams[2].array_bytes",
                          "calibration.elementwise[3].seconds",
                          "calibration.elementwise[4].multiply_add_count"));
  StreamCalibration cached;
  cached.streams = {{StreamPattern::kCopy, 4096, false, Seconds(1e-6)}};
  EXPECT_THAT(StreamModel::Of(cached).status().message(), HasSubstr("none in main memory"));
}

// Properties of every predicted pass, however noisy its calibration: models of little noise and of
// much.
StreamModel AnyModel(unsigned seed) {
  StreamCalibration calibration = MadePasses(PlainSeconds, 0.1 * (seed % 6), seed);
  if (seed % 3 == 0) calibration.ladder.clear();
  if (seed % 4 == 0) calibration.cache_bytes = 5e7;
  if (seed % 5 == 0) calibration.streams.resize(5);
  calibration.streams.back().main_memory = true;
  calibration.processor = seed % 2 == 0;
  return StreamModel::Of(calibration).value();
}

double AnyAmount(std::mt19937& random) {
  return std::exp2(std::uniform_real_distribution<double>(-2, 60)(random));
}

StreamKind AnyKind(std::mt19937& random) {
  return random() % 2 == 0 ? StreamKind::kRows : StreamKind::kElementwise;
}

TEST(PredictedPasses, AreFiniteAndPositive) {
  std::mt19937 random(1);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const StreamModel model = AnyModel(seed);
    for (int i = 0; i < 500; ++i) {
      StreamWork work = {AnyAmount(random), AnyAmount(random), AnyAmount(random)};
      if (i % 5 == 0) work.read_bytes = 0;
      if (i % 7 == 0) work.written_bytes = 0;
      if (i % 3 == 0) work.flops = 0;
      ASSERT_TRUE(IsSound(model.Predict(work, AnyKind(random))));
    }
    EXPECT_TRUE(std::isfinite(model.Predict({1e300, 1e300, 1e300}, {}).high.value()));
    EXPECT_GT(model.Predict({-1, -1, -1}, {}).low.value(), 0);
  }
}

TEST(PredictedPasses, NeverTakeLessForMoreOfTheSame) {
  std::mt19937 random(2);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const StreamModel model = AnyModel(seed);
    for (int i = 0; i < 500; ++i) {
      const StreamWork work = {AnyAmount(random), AnyAmount(random), AnyAmount(random)};
      const double more = 1 + std::exp2(std::uniform_real_distribution<double>(-20, 3)(random));
      const StreamKind kind = AnyKind(random);
      const double once = model.Predict(work, kind).expected.value();
      const StreamWork bytes = {work.read_bytes * more, work.written_bytes * more, work.flops};
      EXPECT_GE(model.Predict(bytes, kind).expected.value(), once * (1 - 1e-12));
      const StreamWork flops = {work.read_bytes, work.written_bytes, work.flops * more};
      EXPECT_GE(model.Predict(flops, kind).expected.value(), once * (1 - 1e-12));
    }
  }
}

// No step at a measured size, at the shortest or the longest, or at a measured mix.
TEST(PredictedPasses, HaveNoSteps) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const StreamModel model = AnyModel(seed);
    double before = model.Predict({1, 1}, {}).expected.value();
    for (double bytes = 1; bytes < 1e13; bytes *= 1.001) {
      const double here = model.Predict({bytes, bytes}, {}).expected.value();
      // Time by bytes has a slope of up to 1 in logarithms, or of two measured sizes.
      ASSERT_NEAR(here / before, 1, 0.01) << bytes;
      before = here;
    }
    before = model.Predict({0, 1e9}, {}).expected.value();
    for (double share = 0; share <= 1; share += 0.001) {
      const double here = model.Predict({share * 1e9, (1 - share) * 1e9}, {}).expected.value();
      ASSERT_NEAR(here / before, 1, 0.05) << share;
      before = here;
    }
  }
}

}  // namespace
}  // namespace sextant
