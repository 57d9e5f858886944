#include "client/report/memory_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/chart/memory_chart.h"
#include "client/report/memory_tables.h"
#include "client/report/plan_text.h"
#include "client/report/text.h"
#include "tests/client/sample_memory.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const absl::Time kMemoryNow = absl::FromUnixSeconds(1'763'812'800);  // 2025-11-22 12:00:00 UTC

std::string TextOf(const v1::PlanRunResponse& response) {
  return MemoryText(SampleMemoryRequest(), response, {});
}

// A bar has 84 columns for 80 GiB: of stage 0 W ends at 8 x 84 / 80 = 8.4, G at 25.2, M at 29.4, O
// at 37.8, A at 39.9, t at 40.95, b at 41.475, r at 44.1, and ~ at 46.2, each rounded.
constexpr char kGoldenMemory[] =
    R"(FITS: 42.00 GiB (41.00 to 44.00) of 80.00 GiB usable on stage 0, which holds the most
  headroom  38.00 GiB (36.00 to 39.00) to spare
  capacity  80.00 GiB (85.90 GB) as its driver reports; nominal 80 GB
  run       toy (1,000,000,000 parameters), 16 x h100-sxm
  layout    tensor 2 x pipeline 4 x data 2; a step is 8 micro-batches of 1 sequence
  sharding  ZeRO stage 0, the default of megatron-lm, as are buffers

Stages
  stage  layers     parameters  in flight  holds the most
      0       2  1,000,000,000  4          in the backward pass of a layer
    1-2       2  1,000,000,000  3          in the backward pass of a layer
      3       2  1,000,000,000  1          while the loss is computed

Memory of each GPU at its stage's peak, in GiB (>: the most)
  stage  state  activations  transients  buffers  reserve  total  low-high
    > 0  36.00         2.00        1.00     0.50     2.50  42.00  41.00-44.00
    1-2  31.50         1.50        1.00     0.50     2.50  37.00  36.00-39.00
      3  36.00         0.50        2.00     0.50     2.50  41.50  40.50-43.50

    0  WWWWWWWWGGGGGGGGGGGGGGGGGMMMMOOOOOOOOOAAtrrr~~                                      │  42.00
  1-2  WWWWWWWGGGGGGGGGGGGGGGMMMMOOOOOOOAAtrrr~~                                           │  37.00
    3  WWWWWWWWGGGGGGGGGGGGGGGGGMMMMOOOOOOOOOttbrrr~~                                      │  41.50
       └──────────┴─────────┴──────────┴─────────┴──────────┴─────────┴──────────┴─────────┴
       0         10        20         30        40         50        60         70        80 GiB
  W weights  G gradients  M master weights  O optimizer state  A activations  t transients
  b communication buffers  r framework reserve  ~ up to the high end  │ usable: 80.00 GiB

Assumptions
)";

TEST(MemoryText, IsAsWorkedByHand) {
  EXPECT_THAT(TextOf(SampleMemory()), StartsWith(kGoldenMemory));
}

TEST(MemoryText, SaysHowManyAreTooFew) {
  EXPECT_THAT(
      TextOf(SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT)),
      StartsWith("DOES NOT FIT: 42.00 GiB (41.00 to 44.00) of 20.00 GiB usable on stage 0, "
                 "which holds the most\n  headroom  short by 22.00 GiB (21.00 to 24.00)\n"));
  EXPECT_THAT(TextOf(SampleMemoryOn(43, v1::VERDICT_TIGHT)),
              HasSubstr("\n  headroom  from 1.00 GiB short to 2.00 GiB to spare; as expected "
                        "1.00 GiB to spare\n"));
  EXPECT_THAT(TextOf(SampleMemoryOn(41, v1::VERDICT_TIGHT)),
              HasSubstr("\n  headroom  from 3.00 GiB short to 0.00 GiB to spare; as expected "
                        "1.00 GiB short\n"));
}

TEST(MemoryText, ListsChangesAsFlags) {
  EXPECT_THAT(TextOf(SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT)), HasSubstr(R"(
What to change: each of these makes it fit, the cheapest first (1,234 considered)
  the peak is                 with
  31.00 GiB (30.00 to 33.00)  --zero=gradients (now none); costs no time: as much is sent
  11.00 GiB (10.00 to 13.00)  --tp=4 (now 2) and a.newer_field=NEWER_Y (now NEWER_X); costs time:
                              smaller products
)"));
  EXPECT_THAT(TextOf(SampleMemory()), Not(HasSubstr("What to change")));
  v1::PlanRunResponse none = SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT);
  none.mutable_plan()->mutable_memory()->clear_changes();
  EXPECT_THAT(TextOf(none),
              HasSubstr("\nWhat to change\n  Of 1,234 changes and pairs of them that were "
                        "considered, none makes it fit.\n"));
}

TEST(MemoryText, SaysWhereChangesWereLeftOut) {
  v1::PlanRunResponse response = SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT);
  v1::Memory* const memory = response.mutable_plan()->mutable_memory();
  memory->set_changes_search_ended_early(true);
  EXPECT_THAT(TextOf(response), HasSubstr("(1,234 considered, others left out)\n"));
  memory->clear_changes();
  EXPECT_THAT(TextOf(response), HasSubstr("Further ones were"));
}

// A prerequisite is a setting of its own.
TEST(MemoryText, ListsAllSettingsOfOneChange) {
  v1::PlanRunResponse response = SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT);
  v1::FittingChange& change = *response.mutable_plan()->mutable_memory()->mutable_changes(0);
  change.mutable_settings(0)->set_field("training.recompute");
  change.mutable_settings(0)->mutable_from()->set_enum_name("RECOMPUTE_POLICY_NONE");
  change.mutable_settings(0)->mutable_to()->set_enum_name("RECOMPUTE_POLICY_OF_THE_FUTURE");
  v1::ChangedSetting& offload = *change.add_settings();
  offload.set_field("layout.sharding.offload_optimizer");
  offload.mutable_from()->set_enabled(false);
  offload.mutable_to()->set_enabled(true);
  EXPECT_THAT(absl::StrJoin(
                  absl::StrSplit(TextOf(response), absl::ByAnyChar("\n "), absl::SkipEmpty()), " "),
              HasSubstr(" --recompute=RECOMPUTE_POLICY_OF_THE_FUTURE (now none) and "
                        "--offload-optimizer=true (now false); costs "));
}

// Each enum of the settings that the server changes.
TEST(MemoryText, WritesEnumsAsFlagsTakeThem) {
  const struct {
    const char* field;
    const char* name;
    const char* flag;
  } cases[] = {
      {"layout.sharding.zero_stage", "ZERO_STAGE_PARAMETERS", "--zero=parameters (now"},
      {"training.recompute", "RECOMPUTE_POLICY_SELECTIVE", "--recompute=selective (now"},
      {"layout.kernels.attention", "ATTENTION_FLASH", "--attention=flash (now"},
      {"layout.kernels.loss", "LOSS_FUSED", "--loss=fused (now"},
  };
  for (const auto& c : cases) {
    v1::PlanRunResponse response = SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT);
    v1::ChangedSetting& setting =
        *response.mutable_plan()->mutable_memory()->mutable_changes(0)->mutable_settings(0);
    setting.set_field(c.field);
    setting.mutable_to()->set_enum_name(c.name);
    EXPECT_THAT(TextOf(response), HasSubstr(c.flag));
  }
}

TEST(MemoryText, SaysTheChanceWhereTheVerdictIsOpen) {
  v1::PlanRunResponse response = SampleMemoryOn(43, v1::VERDICT_TIGHT);
  EXPECT_THAT(TextOf(response),
              StartsWith("TIGHT: 42.00 GiB (41.00 to 44.00) of 43.00 GiB usable on stage 0, which "
                         "holds the most; 37 % likely\n  to fit\n  headroom  from 1.00 GiB"));
  // A site that takes less of a risk.
  response.mutable_plan()->set_verdict(v1::VERDICT_DOES_NOT_FIT);
  EXPECT_THAT(TextOf(response), HasSubstr("; 37 %\n  likely to fit\n"));
  response.mutable_plan()->clear_fit_chance();
  EXPECT_THAT(TextOf(response), Not(HasSubstr("likely")));
  EXPECT_THAT(TextOf(SampleMemory()), Not(HasSubstr("likely")));
  EXPECT_THAT(TextOf(SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT)), Not(HasSubstr("likely")));
}

TEST(MemoryText, OfModelStateSaysSoFirst) {
  const std::string text = MemoryText(SampleRequest(), SampleOfModelState(), {});
  EXPECT_THAT(text, StartsWith(R"(STATE FITS: 1.86 GiB of 74.51 GiB usable, shared out evenly: )"
                               R"(headroom 72.64 GiB
  capacity  74.51 GiB (80.00 GB), the nominal size: no figure of its driver is known
  run       toy (1,000,000,000 parameters), 8 x h100-sxm
  counts    model state; no activations

Memory (sharded evenly over all devices)
)"));
  EXPECT_THAT(text, HasSubstr("\nWarnings\n  - Activations are not counted, so"));
}

// 81,559 MiB / 1024 = 79.6475 GiB, 85.5208e9 bytes; 480 MiB = 0.47 GiB; 85e9 bytes are 79.16 GiB.
TEST(CapacityText, SaysWhoseFigureItIsAndWhatIsSubtracted) {
  v1::DeviceCapacity capacity;
  EXPECT_EQ(CapacityText(capacity), "");
  capacity.set_capacity_bytes(85'520'809'984);
  capacity.set_source(v1::CAPACITY_SOURCE_REPORTED);
  EXPECT_EQ(CapacityText(capacity), "79.65 GiB (85.52 GB) as its host reports");
  capacity.set_nominal_bytes(80'000'000'000);
  capacity.set_reported_bytes(85'520'809'984);
  capacity.set_driver_reserved_bytes(503'316'480);
  EXPECT_EQ(CapacityText(capacity),
            "79.65 GiB (85.52 GB) as its driver reports, less its own 0.47 GiB; "
            "nominal 80 GB");
  capacity.set_reserved_bytes(int64_t{2} << 30);
  EXPECT_EQ(CapacityText(capacity),
            "79.65 GiB (85.52 GB) as its driver reports, less its own 0.47 GiB, "
            "less 2.00 GiB that the request reserves; nominal 80 GB");
  capacity.clear_reserved_bytes();
  capacity.clear_driver_reserved_bytes();
  capacity.set_capacity_bytes(85'000'000'000);
  capacity.set_source(v1::CAPACITY_SOURCE_REQUEST);
  EXPECT_EQ(CapacityText(capacity),
            "79.16 GiB (85.00 GB) as the request gives it; reported 79.65 GiB; nominal 80 GB");
  capacity.clear_reported_bytes();
  capacity.set_capacity_bytes(80'000'000'000);
  capacity.set_source(v1::CAPACITY_SOURCE_NOMINAL);
  EXPECT_EQ(CapacityText(capacity),
            "74.51 GiB (80.00 GB), the nominal size: no figure of its driver is known");
}

// Notes on memory alone.
TEST(MemoryText, SaysWhatWasTakenForGranted) {
  v1::PlanRunResponse response = SampleMemory();
  const std::string text = TextOf(response);
  EXPECT_THAT(text, HasSubstr("\nAssumptions\n  - Memory is divided evenly"));
  EXPECT_THAT(text, HasSubstr("give --reserved-memory-bytes to reserve some.\n\nengine"));
  EXPECT_THAT(text, Not(HasSubstr("Failures")));
  EXPECT_THAT(text, Not(HasSubstr("Warnings")));
  v1::Note& warning = *response.mutable_plan()->add_warnings();
  warning.set_subject(v1::NOTE_SUBJECT_TIME);
  warning.set_text("The measured rate is not stable.");
  EXPECT_EQ(TextOf(response), text);
  warning.set_subject(v1::NOTE_SUBJECT_MEMORY);
  EXPECT_THAT(TextOf(response),
              HasSubstr("\nWarnings\n  - The measured rate is not stable.\n\nAssumptions\n"));
}

std::string LedgersOf(const v1::PlanRunResponse& response) {
  return LedgerSections(response.plan().memory(), response.plan().sources());
}

// 2 x (1024 + 64) + 2 x 2048 = 6272; 2 x 1024 x 2 x 3 = 12288.
TEST(LedgerSections, AddUp) {
  EXPECT_EQ(LedgersOf(SampleLedger()), R"(
Ledger of stage 3: what each GPU holds while the loss is computed
   bytes  of                   times  type  shape: elements
          weights
            decoder, dense
   2,176      attention.query      2  fp8   [32, 32] + 64 B (1)
            output
   4,096      output_head             bf16  [64, 32] (1)
   6,272  = weights                         0.00 GiB (6,272 bytes)
          activations
            decoder, dense
  12,288      attention.input  2 x 3  bf16  b s h: 1,024 (2)
  12,288  = activations                     0.00 GiB (12,288 bytes)
          framework reserve
   1,000      context                 byte  (3)
   1,000  = framework reserve               0.00 GiB (1,000 bytes)
  19,560  = all                             0.00 GiB (19,560 bytes)

Notes (times: layers x micro-batches in flight)
  (1) always; parameters [a paper]
  (2) from its forward to its backward pass; gradient of the weights
  (3) always
)");
  EXPECT_EQ(LedgersOf(SampleMemory()), "");
}

// Ranks that share a tensor out keep a part of its shape.
TEST(LedgerSections, SaysHowMuchOfAShapeIsKept) {
  v1::PlanRunResponse response = SampleLedger();
  v1::Memory* memory = response.mutable_plan()->mutable_memory();
  for (v1::StageMemory& stage : *memory->mutable_stages()) {
    for (v1::LedgerRow& row : *stage.mutable_ledger()) {
      if (row.name() == "output_head") row.set_elements(512);
    }
  }
  EXPECT_THAT(LedgersOf(response), HasSubstr("[64, 32]: 512 (1)\n"));
}

// For a stage with several chunks, rows are grouped by chunk.
TEST(LedgerSections, SayWhichChunkRowsAreOf) {
  v1::PlanRunResponse response = SampleLedger();
  v1::StageMemory* stage = response.mutable_plan()->mutable_memory()->mutable_stages(3);
  v1::LedgerRow input;
  for (v1::LedgerRow& row : *stage->mutable_ledger()) {
    if (row.name() != "attention.input") continue;
    row.set_chunk(0);
    input = row;
  }
  input.set_chunk(1);
  *stage->add_ledger() = input;
  EXPECT_THAT(LedgersOf(response), HasSubstr(R"(
          activations
            chunk 0, decoder, dense
  12,288      attention.input        2 x 3  bf16  b s h: 1,024 (2)
            chunk 1, decoder, dense
  12,288      attention.input        2 x 3  bf16  b s h: 1,024 (2)
  24,576  = activations )"));
}

TEST(MemoryText, CountsChunksAndHostMemory) {
  v1::PlanRunResponse response = SampleMemory();
  v1::StageMemory* stage = response.mutable_plan()->mutable_memory()->mutable_stages(0);
  stage->set_host_bytes(3 * kGibibyte);
  stage->add_micro_batches_in_flight(2);
  EXPECT_THAT(TextOf(response), HasSubstr(R"(
  stage  layers     parameters  in flight  in host memory  holds the most
      0       2  1,000,000,000  4 + 2            3.00 GiB  in the backward pass of a layer
    1-2       2  1,000,000,000  3                0.00 GiB  in the backward pass of a layer
)"));
  for (const int64_t count : {1, 1, 1}) stage->add_micro_batches_in_flight(count);
  EXPECT_THAT(TextOf(response), HasSubstr("  9 in 5 chunks"));
}

TEST(MemoryText, NamesWhatALayoutIs) {
  v1::PlanRunResponse response = SampleOfStages(1);
  response.mutable_plan()->mutable_memory()->set_data_parallel_size(1);
  response.mutable_plan()->mutable_memory()->set_micro_batch_count(1);
  v1::PlanRunRequest request;
  request.mutable_layout();
  const std::string text = MemoryText(request, response, {});
  EXPECT_THAT(text, HasSubstr("\n  layout    one GPU holds all; a step is 1 micro-batch of 1 "
                              "sequence\n"));
  EXPECT_THAT(text, HasSubstr(" of 80.00 GiB usable\n"));  // of which stage goes without saying
  request.mutable_layout()->set_context_parallel_size(2);
  request.mutable_layout()->set_micro_batch_size(3);
  EXPECT_THAT(MemoryText(request, response, {}),
              HasSubstr("\n  layout    context 2; a step is 1 micro-batch of 3 sequences\n"));
}

void ExpectNarrow(const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
    EXPECT_THAT(std::string(line), Not(HasSubstr("GiB...")));
  }
}

TEST(MemoryText, StaysNarrowWhateverItsNumbers) {
  for (const int count : {1, 4, 64, 65, 1000, 4096}) {
    ExpectNarrow(TextOf(SampleOfStages(count)));
  }
  v1::PlanRunResponse huge = SampleOfStages(4096);
  for (v1::StageMemory& stage : *huge.mutable_plan()->mutable_memory()->mutable_stages()) {
    for (v1::LedgerSum& sum : *stage.mutable_sums()) sum.set_size_bytes(sum.size_bytes() * 9999);
    stage.set_total_bytes(stage.total_bytes() * 9999);
    stage.mutable_process_bytes()->set_high(stage.process_bytes().high() * 9999);
    stage.mutable_process_bytes()->set_low(stage.process_bytes().low() * 9999);
    stage.set_parameter_count(999'999'999'999'999);
  }
  ExpectNarrow(TextOf(huge));
}

TEST(MemoryText, LeavesStagesOutOfALongList) {
  const std::string text = TextOf(SampleOfStages(100));
  EXPECT_THAT(text, HasSubstr("\n     19  "));
  EXPECT_THAT(text, HasSubstr("... 60 more\n"));
  EXPECT_THAT(text, HasSubstr("\n    ...\n     80  "));
  EXPECT_THAT(text, Not(HasSubstr("\n     50  ")));
}

// The mark is at the end of usable memory, on a bar or after it.
TEST(MemoryBars, MarkWhatIsUsable) {
  const std::string text =
      MemoryBars(MemoryChartOf(SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT).plan().memory()));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  // 84 columns for 1.02 x 44 GiB: 20 x 84 / 44.88 = 37.4.
  for (int i = 0; i < 3; ++i) {
    const size_t at = lines[static_cast<size_t>(i)].find("│");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(DisplayWidth(lines[static_cast<size_t>(i)].substr(0, at)), 7 + 37) << i;
  }
  EXPECT_THAT(lines[0], HasSubstr("G│G"));
}

TEST(PlanText, OfALayoutShowsItsStages) {
  const std::string text = PlanText(SampleMemoryOn(43, v1::VERDICT_TIGHT), kMemoryNow);
  EXPECT_THAT(
      text,
      StartsWith(R"(TIGHT: toy (1,000,000,000 parameters), 20,000,000,000 tokens, 16 x h100-sxm
  memory  42.00 GiB (41.00 to 44.00) of 43.00 GiB usable on stage 0, which holds the most: from
          1.00 GiB short to 2.00 GiB to spare; as expected 1.00 GiB to spare; 37 % likely to fit
  counts  state as ZeRO stage 0 divides it, activations, transients, buffers, reserve; defaults of
          megatron-lm
  change  --zero=gradients (now none) )"));
  EXPECT_THAT(text, HasSubstr("\nMemory of each GPU at its stage's peak, in GiB (>: the most; "
                              "bars: sextant memory)\n  stage  state  activations"));
  EXPECT_THAT(text, HasSubstr("\nWhat to change"));
  EXPECT_THAT(text, Not(HasSubstr("sharded evenly over all devices)")));
  EXPECT_THAT(PlanText(SampleLedger(), kMemoryNow), HasSubstr("\nLedger of stage 3"));
}

TEST(PlanText, OfALayoutInBrief) {
  const std::string text = PlanText(BasicView(SampleMemoryOn(43, v1::VERDICT_TIGHT)), kMemoryNow);
  EXPECT_THAT(text, HasSubstr(" of 43.00 GiB usable on stage 0, which holds the most: from\n"));
  EXPECT_THAT(text, HasSubstr("<- used for the times\n\nWhat to change"));
  EXPECT_THAT(text, HasSubstr("  --zero=gradients (now none)"));
  EXPECT_THAT(text, Not(HasSubstr("--tp=4")));
  EXPECT_THAT(text, Not(HasSubstr("Memory of each GPU")));
  EXPECT_THAT(text, Not(HasSubstr("\n\n\n")));
}

}  // namespace
}  // namespace sextant::client
