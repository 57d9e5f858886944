// Properties of every predicted pass over memory, however noisy its calibration.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/hardware/kernels/stream_model.h"
#include "tests/engine/hardware/kernels/made_passes.h"

namespace sextant {
namespace {

// Models from calibrations of little noise and of much.
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
      const KernelTime time = model.Predict(work, AnyKind(random));
      ASSERT_TRUE(std::isfinite(time.high.value()));
      ASSERT_GT(time.low.value(), 0);
      ASSERT_LE(time.low, time.expected);
      ASSERT_LE(time.expected, time.high);
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
