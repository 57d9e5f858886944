// The walk over answers finds each kind of impossible figure, and lets possible ones through.
#include "tests/support/possible_figures.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <typename Answer>
std::vector<std::string> FoundIn(const std::string& text) {
  Answer answer;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &answer)) << text;
  return ImpossibleFigures(answer);
}

std::vector<std::string> FoundInPlan(const std::string& text) {
  return FoundIn<v1::PlanRunResponse>("plan {" + text + "}");
}

TEST(ImpossibleFigures, AreNumbersThatAreNotFinite) {
  EXPECT_THAT(FoundInPlan("estimates {} estimates { tokens_per_second: nan cost_usd: inf }"),
              ElementsAre("plan.estimates[1].tokens_per_second is nan",
                          "plan.estimates[1].cost_usd is inf"));
}

TEST(ImpossibleFigures, AreUtilisationsAboveOne) {
  EXPECT_THAT(FoundInPlan("estimates { mfu: 1.0004 hfu: 1 }"), IsEmpty());
  EXPECT_THAT(
      FoundInPlan("estimates { mfu: 1.01 hfu: -1 } whole_run { telemetry { planned_mfu: 2 } }"),
      ElementsAre("plan.estimates[0].mfu is 1.01", "plan.estimates[0].hfu is -1",
                  "plan.whole_run.telemetry.planned_mfu is 2"));
}

TEST(ImpossibleFigures, MayBeATenthAboveThePeakWhereAWarningSaysSo) {
  const std::string warning = "warnings { kind: NOTE_KIND_MEASURED_ABOVE_PEAK }";
  EXPECT_THAT(FoundInPlan("estimates { mfu: 1.09 }" + warning), IsEmpty());
  EXPECT_THAT(FoundInPlan("estimates { mfu: 1.11 }" + warning),
              ElementsAre("plan.estimates[0].mfu is 1.11"));
  EXPECT_THAT(FoundInPlan("estimates { mfu: 1.09 } warnings { kind: NOTE_KIND_PEAK_UNKNOWN }"),
              ElementsAre("plan.estimates[0].mfu is 1.09"));
}

TEST(ImpossibleFigures, AreReadingsThatDoNotSayIt) {
  using Answer = v1::AnalyzeOperationResponse;
  EXPECT_THAT(FoundIn<Answer>("time { utilisation { ratio: 2 "
                              "reading: UTILISATION_READING_IMPOSSIBLE } }"),
              IsEmpty());
  EXPECT_THAT(
      FoundIn<Answer>("time { utilisation { ratio: 2 reading: UTILISATION_READING_GOOD } }"),
      ElementsAre("time.utilisation.ratio is 2"));
}

TEST(ImpossibleFigures, AreSharesOutsideZeroToOne) {
  EXPECT_THAT(FoundInPlan("fit_chance: 1.5 whole_run { failure_share: -1 stall_share: 1 }"),
              ElementsAre("plan.fit_chance is 1.5", "plan.whole_run.failure_share is -1"));
}

TEST(ImpossibleFigures, AreIntervalsOutOfOrder) {
  EXPECT_THAT(FoundInPlan("step_time { seconds { low: 1 expected: 1 high: 1 } }"), IsEmpty());
  EXPECT_THAT(FoundInPlan("step_time { seconds { low: 2 expected: 1 high: 3 } }"),
              ElementsAre("plan.step_time.seconds is low 2, expected 1, high 3"));
  EXPECT_THAT(FoundInPlan("step_time { seconds { low: 1 expected: 3 high: 2 } }"),
              ElementsAre("plan.step_time.seconds is low 1, expected 3, high 2"));
}

TEST(ImpossibleFigures, AreAmountsBelowZero) {
  EXPECT_THAT(
      FoundInPlan("memory { peak_bytes { low: -5 } capacity { usable_bytes: -3 } } "
                  "step_time { parts { seconds: -2 } }"),
      ElementsAre("plan.memory.peak_bytes.low is -5", "plan.memory.capacity.usable_bytes is -3",
                  "plan.step_time.parts[0].seconds is -2"));
  EXPECT_THAT(FoundInPlan("memory { headroom_bytes { low: -5 } "
                          "stages { ledger { size_bytes: -1 } } }"),
              IsEmpty());
}

TEST(ImpossibleFigures, AreNotReadOfNumbersThatARequestRounds) {
  EXPECT_THAT(FoundIn<v1::DescribeDataTypeResponse>("rounded { given: nan value: inf }"),
              IsEmpty());
}

}  // namespace
}  // namespace sextant::server
