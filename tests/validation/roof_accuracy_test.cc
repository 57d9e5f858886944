#include "tests/validation/roof_accuracy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "engine/hardware/kernels/ceiling_time.h"
#include "engine/hardware/predict/attention_predictor.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr double kRounding = 0.012;

absl::StatusOr<std::vector<CsvRow>> Table(const char* name) {
  const char* shared = std::getenv("SEXTANT_SHARED_DIR");
  const std::string folder = shared != nullptr ? shared : SourceFolder() + "/../shared";
  return ReadCsv(folder + "/data/kernels/" + name);
}

void ExpectAsStated(const PredictionError& stated, const PredictionError& seen) {
  EXPECT_GT(seen.shape_count, 5000);
  EXPECT_NEAR(stated.p10, seen.p10, kRounding);
  EXPECT_NEAR(stated.median, seen.median, kRounding);
  EXPECT_NEAR(stated.p90, seen.p90, kRounding);
}

TEST(RoofAccuracy, OfMultiplicationsIsWhatTheEngineStates) {
  const absl::StatusOr<std::vector<CsvRow>> rows = Table("gemm_dev.csv");
  if (absl::IsNotFound(rows.status())) {
    GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  }
  ASSERT_THAT(rows, IsOk());
  const auto datasheet = MatmulsUnderDatasheets(*rows);
  const auto rates = MatmulsUnderBestRates(*rows);
  ASSERT_THAT(datasheet, IsOk());
  ASSERT_THAT(rates, IsOk());
  constexpr DataType kFp8 = DataType::kFp8E4m3;
  ExpectAsStated(ErrorUnderCeilings(KernelBasis::kDatasheet, DataType::kBf16), datasheet->wide);
  ExpectAsStated(ErrorUnderCeilings(KernelBasis::kDatasheet, kFp8), datasheet->narrow);
  ExpectAsStated(ErrorUnderCeilings(KernelBasis::kMeasuredRate, DataType::kBf16), rates->wide);
  ExpectAsStated(ErrorUnderCeilings(KernelBasis::kMeasuredRate, kFp8), rates->narrow);
}

TEST(RoofAccuracy, OfAttentionIsWhatTheEngineStates) {
  const absl::StatusOr<std::vector<CsvRow>> rows = Table("attention_forward_dev.csv");
  if (absl::IsNotFound(rows.status())) {
    GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  }
  ASSERT_THAT(rows, IsOk());
  const auto seen = AttentionUnderDatasheets(*rows);
  ASSERT_THAT(seen, IsOk());
  ExpectAsStated(AttentionErrorUnderCeilings(DataType::kBf16), seen->wide);
  ExpectAsStated(AttentionErrorUnderCeilings(DataType::kFp8E4m3), seen->narrow);
}

}  // namespace
}  // namespace sextant
