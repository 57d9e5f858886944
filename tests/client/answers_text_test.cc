// Texts about answers that no server of ours gives: the largest, and those of a fleet.
// tests/golden/text has those of real answers.
#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/flags/plan_flags.h"
#include "client/report/allocation_text.h"
#include "client/report/count_text.h"
#include "client/report/hardware_text.h"
#include "client/report/memory_text.h"
#include "client/report/operation_text.h"
#include "client/report/plan_text.h"
#include "client/report/size_text.h"
#include "client/text/sources.h"
#include "client/text/step_words.h"
#include "client/text/text.h"
#include "tests/client/fixture.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Fills all fields of `message`: texts with long words, numbers with large ones, lists with two
// entries.
void FillAll(Message* message);

void FillField(const FieldDescriptor& field, Message* message) {
  const auto& reflection = *message->GetReflection();
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return FillAll(list ? reflection.AddMessage(message, &field)
                          : reflection.MutableMessage(message, &field));
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string word(240, 'w');
      return list ? reflection.AddString(message, &field, word)
                  : reflection.SetString(message, &field, word);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return list ? reflection.AddDouble(message, &field, 1e18)
                  : reflection.SetDouble(message, &field, 1e18);
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t large = int64_t{1} << 40;
      return list ? reflection.AddInt64(message, &field, large)
                  : reflection.SetInt64(message, &field, large);
    }
    case FieldDescriptor::CPPTYPE_INT32:
      return list ? reflection.AddInt32(message, &field, 10'000)
                  : reflection.SetInt32(message, &field, 10'000);
    case FieldDescriptor::CPPTYPE_BOOL:
      return list ? reflection.AddBool(message, &field, true)
                  : reflection.SetBool(message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int last = field.enum_type()->value(field.enum_type()->value_count() - 1)->number();
      return list ? reflection.AddEnumValue(message, &field, last)
                  : reflection.SetEnumValue(message, &field, last);
    }
    default:
      ADD_FAILURE() << field.full_name();
  }
}

void FillAll(Message* message) {
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message->GetDescriptor()->field(i);
    FillField(field, message);
    if (field.is_repeated()) FillField(field, message);
  }
}

template <typename Answer>
Answer Filled() {
  Answer answer;
  FillAll(&answer);
  return answer;
}

void ExpectNarrow(const std::string& text) {
  EXPECT_FALSE(text.empty());
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
  }
}

// Whatever a server sends, in every field.
TEST(Texts, NeverPass99Columns) {
  const absl::Time now = absl::UnixEpoch();
  auto plan = Filled<v1::PlanRunResponse>();
  plan.mutable_plan()->mutable_memory()->set_changes_considered(10'000);  // far above ours
  ExpectNarrow(PlanText(plan, now));
  ExpectNarrow(MemoryText({}, plan, {std::string(240, 'w')}));
  ExpectNarrow(LayoutsText(plan.plan(), now));
  auto count = Filled<v1::CountModelResponse>();
  count.clear_architecture();  // as a file has it
  ExpectNarrow(CountText({.conventions = true, .kaplan = true}, count));
  ExpectNarrow(
      OperationText(Filled<v1::AnalyzeOperationResponse>(),
                    {.sizes = std::string(240, 'w'), .now = now, .words = PlanFieldWords}));
  ExpectNarrow(TensorText(Filled<v1::AnalyzeTensorResponse>(),
                          {std::string(240, 'w'), std::string(240, 'w')}));
  ExpectNarrow(NumberFormatTable(Filled<v1::ListDataTypesResponse>()));
  ExpectNarrow(AllocationSources(Filled<v1::AllocateComputeResponse>(), PlanFieldWords));
  ExpectNarrow(SizeClusterText(Filled<v1::SizeClusterRequest>(), Filled<v1::SizeClusterResponse>(),
                               now, PlanFieldWords));
  ExpectNarrow(SizeModelText({}, Filled<v1::SizeModelResponse>(), now));
  ExpectNarrow(AcceleratorTable(Filled<v1::ListAcceleratorsResponse>()));
  ExpectNarrow(AcceleratorSources(Filled<v1::ListAcceleratorsResponse>()));
  ExpectNarrow(NodeTypeTable(Filled<v1::ListNodeTypesResponse>()));
  ExpectNarrow(NodeTypeSources(Filled<v1::ListNodeTypesResponse>()));
  ExpectNarrow(KernelRatesText(Filled<v1::GetKernelRatesResponse>(), PlanFieldWords));
  ExpectNarrow(LinkTimesText(Filled<v1::GetLinkTimesResponse>(), PlanFieldWords));
}

// Words stand where nothing is known, never a zero.
TEST(Texts, OfEmptyAnswersHoldNoFigures) {
  v1::ListAcceleratorsResponse accelerators;
  accelerators.add_accelerators()->set_name("x");
  EXPECT_THAT(AcceleratorTable(accelerators),
              HasSubstr("x          -       -     -     -     -    -     -     -    -"));
  v1::PlanRunResponse plan = SamplePlan();
  EXPECT_THAT(PlanText(plan, absl::UnixEpoch()),
              HasSubstr("  time    unknown: no rate of these devices is known\n"));
  EXPECT_THAT(PlanText(plan, absl::UnixEpoch()), Not(HasSubstr("0.00 s")));
  v1::AnalyzeOperationResponse operation;
  operation.set_name("future_kind");
  EXPECT_THAT(OperationText(operation, {.words = PlanFieldWords}),
              HasSubstr("future-kind\n  forward   0 FLOP, 0 bytes moved\n"));
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
  capacity.set_reserved_bytes(int64_t{2} << 30);
  EXPECT_EQ(CapacityText(capacity),
            "79.65 GiB (85.52 GB) as its driver reports, less its own 0.47 GiB, "
            "less 2.00 GiB that the request reserves; nominal 80 GB");
  capacity.set_reserved_is_taken(true);
  EXPECT_THAT(CapacityText(capacity), HasSubstr("less 2.00 GiB that processes hold now; nominal"));
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

// On the first line, where it decides; else on a line of its own.
TEST(HostMemory, IsNamedWhereItDecides) {
  v1::PlanRunResponse response = SampleStages(2, 80, v1::VERDICT_DOES_NOT_FIT);
  v1::HostMemory& host = *response.mutable_plan()->mutable_memory()->mutable_host();
  host.set_needed_bytes(18'500'000'000'000);
  host.set_server_bytes(2'000'000'000'000);
  host.set_share_bytes(2'000'000'000'000);
  host.set_device_count(8);
  host.set_node_type("dgx-a100");
  host.set_citation("a datasheet");
  host.set_decides_verdict(true);
  const std::string need = "needs 18.50 TB of host memory a server, dgx-a100 has 2.00 TB";
  const v1::Plan& plan = response.plan();
  EXPECT_THAT(PlanHead(plan, absl::UnixEpoch(), 200),
              StartsWith(absl::StrCat("DOES NOT FIT: ", need, "; ")));
  EXPECT_THAT(PlanHead(plan, absl::UnixEpoch(), 200),
              HasSubstr(absl::StrCat("  host    ", need, ", of 8 devices (a datasheet)\n")));
  EXPECT_THAT(MemoryText({}, response, {}), StartsWith(absl::StrCat("DOES NOT FIT: ", need, "; ")));
  host.set_share_bytes(250'000'000'000);
  EXPECT_THAT(PlanHead(plan, absl::UnixEpoch(), 200),
              HasSubstr(absl::StrCat(need, ", the run's devices a part of 250.00 GB; ")));
  host.set_decides_verdict(false);
  EXPECT_THAT(PlanHead(plan, absl::UnixEpoch(), 200), Not(StartsWith("DOES NOT FIT: needs")));
  host.set_decides_verdict(true);
  host.clear_server_bytes();
  response.mutable_plan()->set_verdict(v1::VERDICT_TIGHT);
  response.mutable_plan()->set_fit_chance(1);
  EXPECT_THAT(PlanHead(plan, absl::UnixEpoch(), 200),
              StartsWith("TIGHT: needs 18.50 TB of host memory a server, what dgx-a100 has is not "
                         "known: give --host-memory-bytes; "));
  EXPECT_THAT(PlanHead(plan, absl::UnixEpoch(), 200), Not(HasSubstr("likely to fit")));
}

// A stage of two layers: 2 x (1024 + 64) + 4096 = 6272, and 2 x 1024 x 2 x 3 = 12288 bytes.
TEST(LedgerSections, AddUp) {
  const v1::Memory memory = FromText<v1::Memory>(R"pb(
    stages {
      stage: 3
      peak_phase: PEAK_PHASE_LOSS
      ledger {
        kind: LEDGER_KIND_WEIGHT
        part: MODEL_PART_DECODER
        layer_kind: "dense"
        layer_count: 2
        name: "attention.query"
        dimensions: [ 32, 32 ]
        data_type: DATA_TYPE_FP8
        elements: 1024
        scale_bytes: 64
        micro_batch_count: 1
        size_bytes: 2176
        alive: "always"
        why: "parameters"
        source_number: 1
      }
      ledger {
        kind: LEDGER_KIND_WEIGHT
        part: MODEL_PART_OUTPUT
        layer_count: 1
        name: "output_head"
        dimensions: [ 64, 64 ]
        data_type: DATA_TYPE_BF16
        elements: 2048
        micro_batch_count: 1
        size_bytes: 4096
        alive: "always"
        why: "parameters"
        source_number: 1
      }
      ledger {
        kind: LEDGER_KIND_ACTIVATION
        layer_count: 2
        name: "attention.input"
        shape: "b s h"
        data_type: DATA_TYPE_BF16
        elements: 1024
        micro_batch_count: 3
        size_bytes: 12288
        alive: "until its backward pass"
      }
    }
  )pb");
  SourceList sources;
  *sources.Add() = "a paper";
  EXPECT_EQ(LedgerSections(memory, sources), R"(
Ledger of stage 3: what each GPU holds while the loss is computed
   bytes  of                   times  type  shape: elements
          weights
            decoder, dense
   2,176      attention.query      2  fp8   [32, 32] + 64 B (1)
            output
   4,096      output_head             bf16  [64, 64]: 2,048 (1)
   6,272  = weights                         0.00 GiB (6,272 bytes)
          activations
  12,288      attention.input  2 x 3  bf16  b s h: 1,024 (2)
  12,288  = activations                     0.00 GiB (12,288 bytes)
  18,560  = all                             0.00 GiB (18,560 bytes)

Notes (times: layers x micro-batches in flight)
  (1) always; parameters [a paper]
  (2) until its backward pass
)");
}

TEST(MemoryText, SaysWhereChangesWereLeftOut) {
  v1::PlanRunResponse response = SampleStages(1, 20, v1::VERDICT_DOES_NOT_FIT);
  v1::Memory& memory = *response.mutable_plan()->mutable_memory();
  memory.set_changes_search_ended_early(true);
  memory.set_changes_considered(7);
  EXPECT_THAT(MemoryText({}, response, {}), HasSubstr("Further ones were"));
  // A setting of a newer server.
  *memory.add_changes() = FromText<v1::FittingChange>(R"pb(
    settings {
      field: "a.newer_field"
      old_value { enum_name: "NEWER_X" }
      new_value { enum_name: "NEWER_Y" }
    }
    cost_text: "time"
  )pb");
  EXPECT_THAT(MemoryText({}, response, {}), HasSubstr("7 considered, others left out)\n"));
  EXPECT_THAT(MemoryText({}, response, {}),
              HasSubstr("  a.newer_field=NEWER_Y (now NEWER_X); costs time\n"));
}

TEST(NotesText, NamesFieldsAsFlags) {
  const v1::Plan plan = FromText<v1::Plan>(R"pb(
    warnings {
      text: "Give layout.framework.context_bytes."
      fields: "layout.framework.context_bytes"
    }
    warnings {
      text: "Give layout.sharding.reshard_after_forward = true, or layout.of_the_future."
      fields: [ "layout.sharding.reshard_after_forward", "layout", "layout.of_the_future" ]
    }
    warnings { text: "Names no field." fields: "options.flops_convention" }
    warnings {
      text: "Give cluster.network, or the cluster.node_type of others (0.85)."
      fields: "cluster.network"
    }
  )pb");
  EXPECT_EQ(NotesText("Warnings", plan.warnings(), PlanFieldWords), R"(
Warnings
  - Give --context-bytes.
  - Give --reshard-after-forward=true, or layout.of_the_future.
  - Names no field.
  - Give --network, or the --node-type of others (0.85).
)");
}

TEST(RatesWords, SayThatKernelsOfAFleetAreScaled) {
  v1::Plan plan;
  plan.mutable_step_time()->add_kernel_sources()->set_source(v1::RATE_SOURCE_REFERENCE);
  EXPECT_EQ(RatesWords(plan, absl::UnixEpoch()), "reference: kernels");
  plan.mutable_fleet()->set_device_count(16);
  EXPECT_EQ(RatesWords(plan, absl::UnixEpoch()), "reference: kernels scaled to the fleet's rates");
}

// What the line of limits says is not a warning as well.
TEST(BriefPlan, SaysOnceThatALimitIsMissed) {
  v1::Plan plan = SampleStep().plan();
  *plan.add_warnings() =
      FromText<v1::Note>("kind: NOTE_KIND_DEADLINE_MISSED text: 'The predicted run ends late.'");
  EXPECT_THAT(BriefPlan(plan, absl::UnixEpoch(), 80), Not(HasSubstr("warning")));
  *plan.add_warnings() =
      FromText<v1::Note>("kind: NOTE_KIND_FEW_MICRO_BATCHES text: 'Stages idle.'");
  EXPECT_THAT(BriefPlan(plan, absl::UnixEpoch(), 80), HasSubstr("  warning Stages idle.\n"));
}

TEST(BriefPlan, SaysHowOldAndHowSureItsRatesAre) {
  v1::Plan plan = SamplePlan().plan();
  *plan.add_rates() = FromText<v1::RateUsed>(R"pb(
    quantity: "matmul_flops_per_second"
    source: RATE_SOURCE_MEASURED_DEVICE
    stable: false
    measured_time { seconds: 0 }
  )pb");
  EXPECT_THAT(BriefPlan(plan, absl::FromUnixSeconds(12 * 86400), 160),
              HasSubstr("measured-device: matmul flops 12.0 days ago (unstable)"));
}

// In words of their own, with neither underscores nor hyphens of the API's names.
TEST(CauseWords, AreWords) {
  for (int cause = 1; cause < v1::StepCause_ARRAYSIZE; ++cause) {
    EXPECT_THAT(CauseWords(static_cast<v1::StepCause>(cause)), testing::MatchesRegex("[a-z ]+"));
  }
}

}  // namespace
}  // namespace sextant::client
