#include "engine/hardware/kernels/matmul_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "engine/base/field_violation.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "tests/engine/hardware/kernels/made_kernels.h"

namespace sextant {
namespace {

MatmulModel MadeModel(const MatmulLaw& law) { return *MatmulModel::Of(MadeMatmuls(law)); }

// The share `quantile` of errors of shapes in the grid.
double ErrorOn(const MatmulModel& model, const MatmulLaw& law, double quantile) {
  std::vector<double> errors;
  for (const MatmulShape& shape : RandomMatmuls(7, 2000, 10, 13)) {
    errors.push_back(std::abs(model.Predict(shape).expected.value() / law(shape) - 1));
  }
  std::sort(errors.begin(), errors.end());
  return errors[static_cast<size_t>(quantile * 1999)];
}

TEST(MatmulModel, KnowsADeviceThatAddsItsTimes) {
  // The roofline has neither this device's rates nor its sum in place of a smooth maximum: the
  // efficiency has to say so, from 200 shapes.
  const MatmulModel model = MadeModel(AddedSeconds);
  EXPECT_LT(ErrorOn(model, AddedSeconds, 0.5), 0.005);
  EXPECT_LT(ErrorOn(model, AddedSeconds, 0.99), 0.02);
  EXPECT_LT(model.error().p90_absolute, 0.03);
}

TEST(MatmulModel, SeesWavesWhereThereAreSome) {
  const MatmulModel model = MadeModel(WavesSeconds);
  EXPECT_EQ(model.chosen().form, MatmulForm::kTiles);
  ASSERT_TRUE(model.other().has_value());
  EXPECT_LT(model.chosen().mean_log_error, 0.5 * model.other()->mean_log_error);
  MatmulCalibration blind = MadeMatmuls(WavesSeconds);
  blind.compute_units.reset();
  const MatmulModel grid = *MatmulModel::Of(blind);
  EXPECT_EQ(grid.chosen().form, MatmulForm::kGrid);
  EXPECT_FALSE(grid.other().has_value());
  EXPECT_LT(ErrorOn(model, WavesSeconds, 0.9), 0.6 * ErrorOn(grid, WavesSeconds, 0.9));
}

TEST(MatmulModel, ManyPointsMayBeMissing) {
  MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
  calibration.checks.clear();
  for (size_t kept : {size_t{24}, size_t{40}, size_t{63}, size_t{100}}) {
    MatmulCalibration fewer = calibration;
    std::shuffle(fewer.points.begin(), fewer.points.end(), std::mt19937(3));
    fewer.points.resize(kept);
    const absl::StatusOr<MatmulModel> model = MatmulModel::Of(fewer);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_LT(ErrorOn(*model, AddedSeconds, 0.9), 0.2) << kept;
    EXPECT_EQ(model->error().shape_count, static_cast<int64_t>(kept));
  }
}

// A processor's standard grid: 18 shapes, m of 16, 128 and 512.
TEST(MatmulModel, EighteenShapesAreAGridOfTheirOwn) {
  MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
  calibration.points.clear();
  calibration.checks.clear();
  for (const int64_t m : {16, 128, 512}) {
    for (const auto& [n, k] :
         {std::pair(256, 256), std::pair(256, 1024), std::pair(1024, 256), std::pair(1024, 1024),
          std::pair(1024, 2048), std::pair(2048, 1024)}) {
      const MatmulShape shape = {m, n, k};
      calibration.points.push_back({shape, Seconds(AddedSeconds(shape))});
    }
  }
  const absl::StatusOr<MatmulModel> model = MatmulModel::Of(calibration);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->chosen().form, MatmulForm::kGrid);
  EXPECT_FALSE(model->other().has_value());  // too few to distinguish tiles
  EXPECT_EQ(model->error().shape_count, 18);
  EXPECT_GT(model->error().p90_absolute, MadeModel(AddedSeconds).error().p90_absolute);
  for (const MatmulShape& shape : {MatmulShape{64, 512, 1024}, MatmulShape{256, 1536, 768}}) {
    const KernelTime time = model->Predict(shape);
    EXPECT_NEAR(time.expected.value() / AddedSeconds(shape), 1, 0.15);
  }
  calibration.points.resize(kMinMatmulPoints - 1);
  EXPECT_FALSE(MatmulModel::Of(calibration).ok());
}

TEST(MatmulModel, TheOrderOfPointsDoesNotMatter) {
  MatmulCalibration calibration = MadeMatmuls(WavesSeconds);
  const MatmulModel model = *MatmulModel::Of(calibration);
  std::reverse(calibration.points.begin(), calibration.points.end());
  std::shuffle(calibration.checks.begin(), calibration.checks.end(), std::mt19937(5));
  const MatmulModel other = *MatmulModel::Of(calibration);
  for (const MatmulShape& shape : RandomMatmuls(7, 100, 0, 20)) {
    EXPECT_EQ(model.Predict(shape).expected, other.Predict(shape).expected);
  }
}

TEST(MatmulModel, IsFiniteAndPositiveEverywhere) {
  for (const MatmulLaw& law : {MatmulLaw(AddedSeconds), MatmulLaw(WavesSeconds)}) {
    const MatmulModel model = MadeModel(law);
    for (const MatmulShape& shape : RandomMatmuls(7, 5000, 0, 40)) {
      for (const MatmulPass pass : {MatmulPass::kForward, MatmulPass::kWeightGradient}) {
        ASSERT_TRUE(IsSound(model.Predict({shape.m, shape.n, shape.k, pass})));
      }
    }
    // Beyond 2^40 and below 1 are those.
    constexpr int64_t kMax = int64_t{1} << 40;
    EXPECT_EQ(model.Predict({INT64_MAX, 5, -3}).expected, model.Predict({kMax, 5, 1}).expected);
  }
}

TEST(MatmulModel, GrowsWithEveryDimensionOfASmoothDevice) {
  const MatmulModel model = MadeModel(AddedSeconds);
  for (const MatmulShape& s : RandomMatmuls(7, 2000, 0, 20)) {
    const double time = model.Predict(s).expected.value();
    const int64_t step = 1 + std::max({s.m, s.n, s.k}) / 8;
    EXPECT_GT(model.Predict({s.m + step, s.n, s.k}).expected.value(), time);
    EXPECT_GT(model.Predict({s.m, s.n + step, s.k}).expected.value(), time);
    EXPECT_GT(model.Predict({s.m, s.n, s.k + step}).expected.value(), time);
  }
}

TEST(MatmulModel, IsContinuousOverEdgesOfTheGridAndItsEnd) {
  const MatmulModel model = MadeModel(AddedSeconds);
  for (const int64_t edge : {1024, 2048, 4096, 8192, 16384}) {
    for (const MatmulShape& s : RandomMatmuls(7, 50, 9, 15)) {
      for (const auto& [below, above] :
           {std::pair(MatmulShape{edge - 1, s.n, s.k}, MatmulShape{edge + 1, s.n, s.k}),
            std::pair(MatmulShape{s.m, edge - 1, s.k}, MatmulShape{s.m, edge + 1, s.k}),
            std::pair(MatmulShape{s.m, s.n, edge - 1}, MatmulShape{s.m, s.n, edge + 1})}) {
        // The work grows by a share of 2 / edge; time at most three times as fast.
        const double ratio =
            model.Predict(above).expected.value() / model.Predict(below).expected.value();
        EXPECT_NEAR(ratio, 1, 6.0 / static_cast<double>(edge));
      }
    }
  }
}

TEST(MatmulModel, StepsOnlyWhereATileIsAdded) {
  const MatmulModel model = MadeModel(WavesSeconds);
  const auto seconds = [&](int64_t m, int64_t n) {
    return model.Predict({m, n, 8192}).expected.value();
  };
  // 40 tiles of 128 rows x 10 of 256 columns are 4 waves of 100 units; one row more is a fifth.
  EXPECT_NEAR(seconds(5120, 2560) / seconds(5119, 2560), 1, 0.002);
  EXPECT_GT(seconds(5121, 2560), 1.1 * seconds(5120, 2560));
  EXPECT_NEAR(seconds(5122, 2560) / seconds(5121, 2560), 1, 0.002);
}

TEST(MatmulModel, WidensWithWhatItLacks) {
  const MatmulModel model = MadeModel(AddedSeconds);
  const auto width = [](const KernelTime& time) { return time.high.value() / time.low.value(); };
  const KernelTime inside = model.Predict({2000, 5000, 5000});
  const KernelTime outside = model.Predict({2000, 5000, 50000});
  const KernelTime far = model.Predict({2000, 5000, int64_t{1} << 24});
  const KernelTime other = model.Predict(WeightGradientOf({2000, 5000, 5000}));
  EXPECT_EQ(inside.basis, KernelBasis::kWithinGrid);
  EXPECT_EQ(outside.basis, KernelBasis::kOutsideGrid);
  EXPECT_EQ(far.basis, KernelBasis::kOutsideGrid);
  EXPECT_EQ(other.basis, KernelBasis::kOtherPass);
  EXPECT_NEAR(width(outside) / width(inside), 1.1 / 0.95, 1e-12);
  // 2^24 is 10 octaves above 16384: to the fifth power.
  EXPECT_NEAR(width(far) / width(inside), std::pow(1.1 / 0.95, 5), 1e-9);
  // Both errors in squares of logarithms.
  const auto end = [](double own, double more) {
    return std::hypot(std::log(own), std::log(more));
  };
  const PredictionError& error = model.error();
  EXPECT_NEAR(std::log(width(other)), end(error.p90, 1.13) + end(error.p10, 0.9), 1e-9);
  // A measured shape is smoothed as others are.
  EXPECT_EQ(model.Predict({4096, 4096, 4096}).basis, KernelBasis::kWithinGrid);
}

TEST(MatmulModel, TheBoxIsOfWhatWasMeasured) {
  MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
  const auto is_large = [](const MatmulPoint& matmul) { return matmul.shape.n > 4096; };
  std::erase_if(calibration.points, is_large);
  std::erase_if(calibration.checks, is_large);
  const MatmulModel model = *MatmulModel::Of(calibration);
  EXPECT_EQ(model.Predict({1024, 4096, 8192}).basis, KernelBasis::kWithinGrid);
  EXPECT_EQ(model.Predict({1024, 5000, 8192}).basis, KernelBasis::kOutsideGrid);
}

TEST(MatmulModel, OtherTypesArePredictedByTheirPeak) {
  const MatmulModel model = MadeModel(AddedSeconds);
  const MatmulShape shape = {4096, 8192, 8192};
  const KernelTime bf16 = model.Predict(shape);
  const KernelTime fp16 =
      model.PredictOtherType(shape, {.type = {DataType::kFp16, MatmulScaling::kNone}});
  EXPECT_EQ(fp16.basis, KernelBasis::kOtherType);
  EXPECT_EQ(fp16.expected, bf16.expected);
  EXPECT_LT(fp16.low, bf16.low);
  EXPECT_GT(fp16.high, bf16.high);
  const MatmulType fp8 = {DataType::kFp8E4m3, MatmulScaling::kTensor};
  const KernelTime faster = model.PredictOtherType(shape, {.type = fp8, .peak_ratio = 2});
  // Half of it by the peak, of which published libraries reach two thirds; and x is quantised.
  EXPECT_NEAR(faster.expected.value() / bf16.expected.value(), 0.5 * 1.55, 0.06);
  EXPECT_LT(faster.low.value(), 0.7 * faster.expected.value());
}

TEST(MatmulModel, ShowsTheNearestThatWereMeasured) {
  const MatmulModel model = MadeModel(AddedSeconds);
  EXPECT_EQ(model.measured().size(), 200u);
  const std::vector<MatmulPoint> nearest = model.Nearest({4000, 4100, 4100}, 3);
  ASSERT_EQ(nearest.size(), 3u);
  EXPECT_EQ(nearest[0].shape, (MatmulShape{4096, 4096, 4096}));
  EXPECT_EQ(nearest[0].time.value(), AddedSeconds({4096, 4096, 4096}));
  EXPECT_EQ(model.Nearest({1, 1, 1}, 1000).size(), 200u);
  EXPECT_TRUE(model.Nearest({1, 1, 1}, 0).empty());
}

constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndlessTime = std::numeric_limits<double>::infinity();

using FieldNames = std::vector<std::string>;

FieldNames FaultsOf(const MatmulCalibration& calibration) {
  const absl::StatusOr<MatmulModel> model = MatmulModel::Of(calibration);
  EXPECT_EQ(model.status(), CheckMatmulCalibration(calibration));
  FieldNames out;
  for (const FieldViolation& fault : FieldViolationsOf(model.status())) out.push_back(fault.field);
  return out;
}

TEST(MatmulCalibration, TimesThatCannotBeAreRefused) {
  for (const double time : {kNoTime, kEndlessTime, 0.0, -1e-6, 1e6}) {
    MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
    calibration.points[3].time = Seconds(time);
    calibration.checks[5].time = Seconds(time);
    EXPECT_EQ(FaultsOf(calibration), (FieldNames{"calibration.gemm.points[3].seconds",
                                                 "calibration.gemm.checks[5].seconds"}))
        << time;
  }
}

TEST(MatmulCalibration, RatesAboveThePeakAreRefused) {
  MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
  calibration.peak = FlopsPerSecond(1e15);
  EXPECT_EQ(FaultsOf(calibration), FieldNames());
  // The simulated GPU does up to 1e15; a peak a tenth of that is refused.
  calibration.peak = FlopsPerSecond(1e14);
  EXPECT_FALSE(FaultsOf(calibration).empty());
  calibration.peak = FlopsPerSecond(1e15);
  calibration.checks[0].time = calibration.checks[0].time * 1e-3;
  EXPECT_EQ(FaultsOf(calibration), FieldNames{"calibration.gemm.checks[0].seconds"});
}

TEST(MatmulCalibration, ShapesThatCannotBeAreRefused) {
  MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
  calibration.points[0].shape.m = 0;
  calibration.points[1].shape.k = (int64_t{1} << 40) + 1;
  calibration.points[2].shape.pass = MatmulPass::kWeightGradient;
  calibration.checks[1].shape = calibration.points[7].shape;  // it would check nothing
  calibration.compute_units = 0;
  calibration.type.data_type = DataType::kUnspecified;
  EXPECT_EQ(FaultsOf(calibration),
            (FieldNames{"calibration.gemm.data_type", "calibration.gemm.compute_units",
                        "calibration.gemm.points[0].m", "calibration.gemm.points[1].k",
                        "calibration.gemm.points[2]", "calibration.gemm.checks[1]"}));
}

TEST(MatmulCalibration, TooFewOrTooManyAreRefused) {
  EXPECT_EQ(FaultsOf(MatmulCalibration()),
            (FieldNames{"calibration.gemm.data_type", "calibration.gemm.points"}));
  MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
  calibration.checks.clear();
  calibration.points.resize(15);
  EXPECT_EQ(FaultsOf(calibration), FieldNames{"calibration.gemm.points"});
  for (int64_t i = 0; calibration.points.size() <= 4096; ++i) {
    calibration.points.push_back({{7, 7, 7 + i}, Seconds(1)});
  }
  EXPECT_EQ(FaultsOf(calibration), FieldNames{"calibration.gemm.points"});
}

}  // namespace
}  // namespace sextant
