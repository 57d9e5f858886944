// The report of a calibration and the model of its device name the same best figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/text/calibration_text.h"
#include "server/convert/calibration.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

// The line of `text` that starts with `label` after blanks; "" where there is none.
std::string RowOf(const std::string& text, const std::string& label) {
  const size_t best = text.find("Best of each kind");
  if (best == std::string::npos) return "";
  for (const absl::string_view line : absl::StrSplit(text.substr(best), '\n')) {
    if (absl::StartsWith(line, absl::StrCat("  ", label, " "))) return std::string(line);
  }
  return "";
}

// Eight measurements with close rates, some stable, some asked for, identified by their rows.
v1::Calibration RandomCalibration(std::mt19937& random) {
  v1::Calibration out = SampleCalibration("GPU-1");
  const v1::MatmulMeasurement pattern = out.matmuls(0);
  const auto measure = [&](int64_t m, v1::MatmulMeasurement::Window window) {
    v1::MatmulMeasurement* const matmul = out.add_matmuls();
    *matmul = pattern;
    matmul->set_window(window);
    matmul->set_data_type(v1::DATA_TYPE_BF16);
    matmul->set_m(m);
    matmul->set_flops_per_second(1e12 * (80 + static_cast<double>(random() % 41)));
    const bool requested =
        matmul->window() != v1::MatmulMeasurement::WINDOW_SUSTAINED && random() % 4 == 0;
    matmul->set_purpose(requested ? v1::MatmulMeasurement::PURPOSE_REQUESTED
                                  : v1::MatmulMeasurement::PURPOSE_GRID);
    matmul->mutable_time()->set_stable(random() % 2 == 0);
  };
  out.clear_matmuls();
  for (int64_t m = 101; m <= 108; ++m) measure(m, v1::MatmulMeasurement::WINDOW_BURST);
  for (int64_t m = 201; m <= 203; ++m) measure(m, v1::MatmulMeasurement::WINDOW_SUSTAINED);
  return out;
}

TEST(BestOfEachKind, IsOneInTheReportAndInPlans) {
  std::mt19937 random(20261123);  // NOLINT: the same on every run
  int unstable = 0;
  for (int i = 0; i < 500; ++i) {
    const v1::Calibration calibration = RandomCalibration(random);
    const std::string text = text::CalibrationText(calibration, {});
    const auto model = DeviceModelFrom(calibration, "");
    const MeasuredMatmul* const burst = model->calibration().BurstIn(DataType::kBf16);
    const MeasuredMatmul* const plan = model->calibration().MatmulIn(DataType::kBf16);
    const std::string burst_row = RowOf(text, "matmul bf16");
    const std::string sustained_row = RowOf(text, "sustained bf16");
    ASSERT_EQ(burst != nullptr, !burst_row.empty()) << text;
    if (burst != nullptr) {
      EXPECT_THAT(burst_row, HasSubstr(absl::StrCat(" ", burst->m, "x")));
      unstable += burst->stable ? 0 : 1;
    }
    ASSERT_EQ(plan != nullptr && plan->sustained, !sustained_row.empty()) << text;
    if (!sustained_row.empty()) {
      EXPECT_THAT(sustained_row, HasSubstr(absl::StrCat(" ", plan->m, "x")));
    }
  }
  EXPECT_GT(unstable, 10);  // both kinds of best rates occurred
  EXPECT_LT(unstable, 490);
}

}  // namespace
}  // namespace sextant::server
