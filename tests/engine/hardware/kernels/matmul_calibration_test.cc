#include "engine/hardware/kernels/matmul_calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/base/field_violation.h"
#include "engine/hardware/kernels/matmul_model.h"
#include "tests/engine/hardware/kernels/made_matmuls.h"

namespace sextant {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Fields = std::vector<std::string>;

Fields FaultsOf(const MatmulCalibration& calibration) {
  const absl::StatusOr<MatmulModel> model = MatmulModel::Of(calibration);
  EXPECT_EQ(model.status(), CheckMatmulCalibration(calibration));
  Fields out;
  for (const FieldViolation& fault : FieldViolationsOf(model.status())) out.push_back(fault.field);
  return out;
}

TEST(MatmulCalibration, TimesThatCannotBeAreRefused) {
  for (const double time : {kNan, kInfinity, 0.0, -1e-6, 1e6}) {
    MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
    calibration.points[3].time = Seconds(time);
    calibration.checks[5].time = Seconds(time);
    EXPECT_EQ(FaultsOf(calibration),
              (Fields{"calibration.gemm.points[3].seconds", "calibration.gemm.checks[5].seconds"}))
        << time;
  }
}

TEST(MatmulCalibration, RatesAboveThePeakAreRefused) {
  MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
  calibration.peak = FlopsPerSecond(1e15);
  EXPECT_EQ(FaultsOf(calibration), Fields());
  // The simulated GPU does up to 1e15; a peak a tenth of that is refused.
  calibration.peak = FlopsPerSecond(1e14);
  EXPECT_FALSE(FaultsOf(calibration).empty());
  calibration.peak = FlopsPerSecond(1e15);
  calibration.checks[0].time = calibration.checks[0].time * 1e-3;
  EXPECT_EQ(FaultsOf(calibration), Fields{"calibration.gemm.checks[0].seconds"});
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
            (Fields{"calibration.gemm.data_type", "calibration.gemm.compute_units",
                    "calibration.gemm.points[0].m", "calibration.gemm.points[1].k",
                    "calibration.gemm.points[2]", "calibration.gemm.checks[1]"}));
}

TEST(MatmulCalibration, TooFewOrTooManyAreRefused) {
  EXPECT_EQ(FaultsOf(MatmulCalibration()),
            (Fields{"calibration.gemm.data_type", "calibration.gemm.points"}));
  MatmulCalibration calibration = MadeMatmuls(AddedSeconds);
  calibration.checks.clear();
  calibration.points.resize(15);
  EXPECT_EQ(FaultsOf(calibration), Fields{"calibration.gemm.points"});
  for (int64_t i = 0; calibration.points.size() <= 4096; ++i) {
    calibration.points.push_back({{7, 7, 7 + i}, Seconds(1)});
  }
  EXPECT_EQ(FaultsOf(calibration), Fields{"calibration.gemm.points"});
}

}  // namespace
}  // namespace sextant
