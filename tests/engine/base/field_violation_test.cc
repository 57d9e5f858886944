// Violations, preconditions and other data of a failed status.
#include "engine/base/field_violation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/base/reason.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Checks that depend on a field count what was found, reported or not.
TEST(FieldViolations, ReportAFieldOnceWhereAsked) {
  FieldViolations violations;
  violations.AddOnce("a.b", "is wrong");
  violations.RequireRange("a", "b", int64_t{0}, 1, 2);
  violations.Require("a", "b", 0, 1, 2);
  violations.AddOnce("a", "is wrong below");
  violations.Add("a.b", "is wrong in another way");
  EXPECT_EQ(violations.found_count(), 5U);
  EXPECT_THAT(FieldViolationsOf(violations.ToStatus()),
              ElementsAre(FieldViolation{"a.b", "is wrong"},
                          FieldViolation{"a.b", "is wrong in another way"}));
}

TEST(FieldViolations, NoneIsOk) { EXPECT_THAT(FieldViolations().ToStatus(), IsOk()); }

TEST(FieldViolations, AllTravelInOneStatus) {
  FieldViolations violations;
  violations.Add("cluster.device_count", "must be at least 1");
  violations.Add("training", "is\nmissing");  // a line end would break the payload
  const absl::Status status = violations.ToStatus();
  EXPECT_THAT(status, Fails(absl::StatusCode::kInvalidArgument, "FIELD_INVALID"));
  EXPECT_THAT(FieldViolationsOf(status),
              ElementsAre(FieldViolation{"cluster.device_count", "must be at least 1"},
                          FieldViolation{"training", "is missing"}));
  EXPECT_THAT(std::string(status.message()), HasSubstr("cluster.device_count"));
}

TEST(FieldViolations, OtherStatusesCarryNone) {
  EXPECT_THAT(FieldViolationsOf(absl::NotFoundError("x")), IsEmpty());
  EXPECT_THAT(FieldViolationsOf(absl::OkStatus()), IsEmpty());
}

struct WholeCase {
  int64_t value;
  bool accepted;
  const char* says;
};

TEST(FieldViolations, WholeNumbersAreHeldToTheirRange) {
  for (const WholeCase& c :
       {WholeCase{1, true, ""}, WholeCase{10, true, ""}, WholeCase{0, false, "not 0"},
        WholeCase{-1, false, "not -1"}, WholeCase{11, false, "1 to 10"},
        WholeCase{INT64_MIN, false, "not -9"}, WholeCase{INT64_MAX, false, "not 9"}}) {
    FieldViolations violations;
    violations.RequireRange("a", "b", c.value, 1, 10);
    EXPECT_EQ(violations.empty(), c.accepted) << c.value;
    if (c.accepted) continue;
    EXPECT_EQ(violations.all()[0].field, "a.b");
    EXPECT_THAT(violations.all()[0].description, HasSubstr(c.says)) << c.value;
  }
}

TEST(FieldViolations, ARequiredNumberThatIsZeroIsMissing) {
  FieldViolations violations;
  violations.Require("a", "b", 0, 1, 10);
  violations.Require("a", "c", 11, 1, 10);
  violations.Require("a", "d", 10, 1, 10);
  EXPECT_THAT(violations.all(), ElementsAre(FieldViolation{"a.b", "is required: write 1 to 10"},
                                            FieldViolation{"a.c", "must be 1 to 10, not 11"}));
}

TEST(FieldViolations, RealNumbersAreHeldToTheirRangeAndNeverNan) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto accepts = [](double value, FieldViolations::RealRange range) {
    FieldViolations violations;
    violations.RequireRange("a", "b", value, range);
    return violations.empty();
  };
  EXPECT_TRUE(accepts(0, {.low = 0, .high = 1}));
  EXPECT_FALSE(accepts(0, {.low = 0, .high = 1, .above_low = true}));
  EXPECT_TRUE(accepts(1e-300, {.low = 0, .high = 1, .above_low = true}));
  EXPECT_TRUE(accepts(1, {.low = 0, .high = 1}));
  EXPECT_FALSE(accepts(std::nextafter(1.0, 2.0), {.low = 0, .high = 1}));
  for (const double bad : {-1.0, inf, -inf, std::nan("")}) {
    EXPECT_FALSE(accepts(bad, {.low = 0, .high = 1e300})) << bad;
  }
}

TEST(FieldPath, JoinsWhatIsThere) {
  EXPECT_EQ(FieldPath("a.b", "c"), "a.b.c");
  EXPECT_EQ(FieldPath("", "c"), "c");
  EXPECT_EQ(FieldPath("a", ""), "a");
}

TEST(Reason, IsCarriedAndDefaultsToABrokenInvariant) {
  EXPECT_EQ(ReasonOf(WithReason(absl::NotFoundError("x"), "GPU_UNKNOWN")), "GPU_UNKNOWN");
  EXPECT_EQ(ReasonOf(absl::InternalError("x")), "INVARIANT_BROKEN");
  EXPECT_THAT(WithReason(absl::OkStatus(), "GPU_UNKNOWN"), IsOk());
}

TEST(FieldViolations, MentionsWhatIsAtOrBelowAField) {
  FieldViolations violations;
  violations.Add("cluster.device.calibrations.calibrations[1].device.uuid", "is required");
  EXPECT_TRUE(violations.Mentions("cluster"));
  EXPECT_TRUE(violations.Mentions("cluster.device.calibrations.calibrations"));
  EXPECT_TRUE(violations.Mentions("cluster.device.calibrations.calibrations[1].device.uuid"));
  EXPECT_FALSE(violations.Mentions("cluster.cal"));
  EXPECT_FALSE(violations.Mentions("cluster.device.calibrations.calibrations[0]"));
}

TEST(FieldViolations, MoveBelowAField) {
  FieldViolations violations;
  violations.Add("model", "is required");
  violations.Add("cluster.device_count", "must be 1");
  EXPECT_THAT(FieldViolationsOf(BelowField(violations.ToStatus(), "runs[3]")),
              ::testing::ElementsAre(FieldViolation{"runs[3].model", "is required"},
                                     FieldViolation{"runs[3].cluster.device_count", "must be 1"}));
  const absl::Status other = absl::NotFoundError("x");
  EXPECT_EQ(BelowField(other, "runs[3]"), other);
  EXPECT_THAT(MetadataOf(BelowField(WithField(other, "model"), "runs[3]")),
              ::testing::ElementsAre(std::make_pair("field", "runs[3].model")));
  EXPECT_THAT(BelowField(absl::OkStatus(), "runs[3]"), IsOk());
}

TEST(Metadata, IsCarriedInOrderAndOnOneLineEach) {
  absl::Status status = WithMetadata(absl::UnavailableError("x"), "fault", "crashed");
  status = WithMetadata(std::move(status), "signal", "a\nb");
  EXPECT_THAT(MetadataOf(status), ::testing::ElementsAre(std::make_pair("fault", "crashed"),
                                                         std::make_pair("signal", "a b")));
  EXPECT_THAT(
      MetadataOf(WithMetadata(status, "fault", "stopped")),
      ::testing::ElementsAre(std::make_pair("signal", "a b"), std::make_pair("fault", "stopped")));
  EXPECT_THAT(MetadataOf(absl::UnavailableError("x")), ::testing::IsEmpty());
  EXPECT_THAT(WithMetadata(absl::OkStatus(), "fault", "crashed"), IsOk());
}

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
