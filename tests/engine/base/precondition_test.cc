#include <gtest/gtest.h>

#include "engine/base/reason.h"

namespace sextant {
namespace {

TEST(FailedPrecondition, CarriesEachViolationBesideItsReason) {
  const std::vector<PreconditionViolation> violations = {
      {"RATES_NOT_MEASURED", "GPU-1", "GPU-1 was never measured"},
      {"RATES_NOT_MEASURED", "", "line\nend"}};
  const absl::Status status = FailedPrecondition("RATES_NOT_MEASURED", violations);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status), "RATES_NOT_MEASURED");
  EXPECT_EQ(status.message(), "GPU-1 was never measured; line\nend");
  const std::vector<PreconditionViolation> read = PreconditionsOf(status);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0], violations[0]);
  EXPECT_EQ(read[1].description, "line end");
}

TEST(PreconditionsOf, IsEmptyForOtherStatus) {
  EXPECT_TRUE(PreconditionsOf(absl::OkStatus()).empty());
  EXPECT_TRUE(PreconditionsOf(absl::InternalError("x")).empty());
}

}  // namespace
}  // namespace sextant
