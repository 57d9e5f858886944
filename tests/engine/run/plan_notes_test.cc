// A plan's notes on the names and the layout of its request.
#include "engine/run/plan_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/run/plan.h"
#include "tests/engine/run/layout_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Layouts that are legal, and that hardly anyone means: what NVLink does not join, and a pipeline
// of four stages with two micro-batches.
TEST(PlanNotes, WarnOfLayoutsThatHardlyAnyoneRuns) {
  const auto kinds_of = [](const RunSpec& run) {
    const auto plan = PlanRun(run);
    EXPECT_THAT(plan, IsOk());
    return plan.ok() ? KindsOf(plan->notes) : std::vector<NoteKind>();
  };
  RunSpec run = Llama70b();
  EXPECT_THAT(kinds_of(run), Not(Contains(NoteKind::kTensorAcrossServers)));
  EXPECT_THAT(kinds_of(run), Not(Contains(NoteKind::kFewMicroBatches)));
  run.layout->global_batch_size = 8;  // 4 micro-batches
  EXPECT_THAT(kinds_of(run), Not(Contains(NoteKind::kFewMicroBatches)));
  run.layout->global_batch_size = 4;
  EXPECT_THAT(kinds_of(run), Contains(NoteKind::kFewMicroBatches));
  run.layout->parallel.tensor_parallel_size = 16;
  run.layout->parallel.split_key_value_heads = true;
  EXPECT_THAT(kinds_of(run), Contains(NoteKind::kTensorAcrossServers));
  EXPECT_THAT(TextsOf(PlanRun(run)->notes),
              Contains(HasSubstr("Groups of 16 tensor parallel ranks span servers of 8 devices")));
}

TEST(PlanNotes, SayWhatNamesWereTakenFor) {
  RunSpec run = Llama70b();
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Not(Contains(NoteKind::kNameTaken)));
  run.model.preset = "meta-llama/Llama-3.1-70B";
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Not(Contains(NoteKind::kNameTaken)));
  run.model.preset = "meta-llama/Llama-3.1-70B-Instruct";
  run.cluster.device.accelerator = "gpu:h100:8";
  EXPECT_THAT(TextsOf(PlanRun(run)->notes),
              IsSupersetOf({HasSubstr("Instruct\" is taken for llama-3.1-70b, whose shape it has"),
                            HasSubstr("\"gpu:h100:8\" is taken for h100-sxm (H100 SXM5 80GB)")}));
}

TEST(PlanNotes, WarnWhereTheBaseIsTrainedBesideItsAdapters) {
  RunSpec run = Llama70b();
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Not(Contains(NoteKind::kBaseTrained)));
  run.model.changes.adapters = AdapterSpec{.rank = 16, .targets = {{"attention", "query"}}};
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Contains(NoteKind::kBaseTrained));
  run.model.changes.base_frozen = true;
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Not(Contains(NoteKind::kBaseTrained)));
}

}  // namespace
}  // namespace sextant
