#include "client/report/rates_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/flags/plan_flags.h"
#include "tests/client/sample_calibration.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kRatesNow = absl::FromUnixSeconds(1'763'812'800);  // 2025-11-22 12:00:00 UTC

// Measured 2025-11-21 12:00:00 UTC, a day before kRatesNow.
TEST(RatesText, SaysWhenAndHowWellARateWasMeasured) {
  v1::Plan plan = SampleMeasuredPlan().plan();
  plan.mutable_rates()->DeleteSubrange(0, 2);
  EXPECT_EQ(RatesText(plan.rates(), plan.sources(), kRatesNow), R"(
Rates used
  matmul_flops_per_second (bf16)  500.00 TFLOP/s  measured-device  h100-sxm: 1024x1024x1024
  matmul_flops_per_second (bf16): unstable: the samples disagree, spread 0.80 %, measured
    2025-11-21 12:00:00 UTC, 24.0 hours ago, on GPU-1, calibration c0ffee
)");
  plan.mutable_rates(0)->set_stable(true);
  EXPECT_THAT(RatesText(plan.rates(), plan.sources(), kRatesNow), Not(HasSubstr("unstable")));
}

v1::Note NoteNaming(const std::string& text, const std::vector<std::string>& fields) {
  v1::Note note;
  note.set_text(text);
  for (const std::string& field : fields) note.add_fields(field);
  return note;
}

TEST(NotesText, NamesFieldsAsFlags) {
  google::protobuf::RepeatedPtrField<v1::Note> notes;
  *notes.Add() =
      NoteNaming("Give layout.framework.context_bytes.", {"layout.framework.context_bytes"});
  *notes.Add() =
      NoteNaming("Give layout.sharding.reshard_after_forward = true, or layout.of_the_future.",
                 {"layout.sharding.reshard_after_forward", "layout", "layout.of_the_future"});
  *notes.Add() = NoteNaming("Names no field.", {"options.flops_convention"});
  *notes.Add() = NoteNaming("Give cluster.network, or the cluster.node_type of others (0.85).",
                            {"cluster.network"});
  EXPECT_EQ(NotesText("Warnings", notes, PlanFieldWords), R"(
Warnings
  - Give --context-bytes.
  - Give --reshard-after-forward=true, or layout.of_the_future.
  - Names no field.
  - Give --network, or the --node-type of others (0.85).
)");
}

TEST(SourceText, IsTheOneOfThatNumber) {
  const v1::Plan plan = SampleResponse().plan();
  EXPECT_EQ(SourceText(plan.sources(), 1), "a datasheet");
  EXPECT_EQ(SourceText(plan.sources(), 2), "sum of declared terms");
  for (const int32_t none : {-1, 0, 4}) EXPECT_EQ(SourceText(plan.sources(), none), "") << none;
}

}  // namespace
}  // namespace sextant::client
