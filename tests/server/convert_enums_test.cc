// Enum values, notes and numbers of sources, to the wire and from it.
#include <gmock/gmock.h>
#include <google/protobuf/generated_enum_reflection.h>
#include <gtest/gtest.h>

#include <string>

#include "server/convert/calibration.h"
#include "server/convert/enums.h"
#include "server/convert/kernel.h"
#include "server/convert/notes.h"
#include "server/convert/operation.h"
#include "tests/server/message_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <typename Engine, typename Wire>
std::function<int(int)> By(Wire (*to)(Engine)) {
  return [to](int value) { return static_cast<int>(to(static_cast<Engine>(value))); };
}

template <typename Engine>
absl::optional<int> NumberOf(Engine value) {
  return static_cast<int>(value);
}
template <typename Engine>
absl::optional<int> NumberOf(absl::optional<Engine> value) {
  return value.has_value() ? NumberOf(*value) : absl::nullopt;
}

template <typename Engine, typename Wire, typename Field>
std::function<absl::optional<int>(int)> By(Engine (*from)(Wire, Field, FieldViolations&)) {
  return [from](int number) {
    FieldViolations violations;
    const absl::optional<int> out = NumberOf(from(static_cast<Wire>(number), "f", violations));
    EXPECT_TRUE(violations.empty());
    // Numbers of a newer version have no meaning here.
    FieldViolations unknown;
    from(static_cast<Wire>(99), "f", unknown);
    EXPECT_EQ(unknown.all().size(), 1u);
    return out;
  };
}

// The wire's values that `from` reads, and the engine's that `to` writes, have the same names.
template <typename Engine, typename Wire, typename Field>
void Arrives(Engine (*from)(Wire, Field, FieldViolations&), const std::string& header,
             const std::string& name, const std::string& unspecified = "") {
  ExpectArrives({google::protobuf::GetEnumDescriptor<Wire>(), header, name}, unspecified, By(from));
}
template <typename Engine, typename Wire>
void Leaves(Wire (*to)(Engine), const std::string& header, const std::string& name) {
  ExpectSameNames({google::protobuf::GetEnumDescriptor<Wire>(), header, name}, By(to));
}

constexpr char kDataType[] = "engine/tensor/data_type.h";
constexpr char kConvention[] = "engine/model/flops/convention.h";
constexpr char kStep[] = "engine/model/flops/training_step.h";
constexpr char kChoices[] = "engine/model/trace/training_choices.h";
constexpr char kMicroBatch[] = "engine/model/trace/micro_batch.h";
constexpr char kFramework[] = "engine/framework/framework.h";
constexpr char kRates[] = "engine/hardware/rates.h";

TEST(Enums, ArriveByTheirNames) {
  const std::string architecture = "engine/model/architecture/architecture_spec.h";
  Arrives(DataTypeFrom, kDataType, "DataType", "Unspecified");
  Arrives(FeedForwardKindFrom, architecture, "FeedForwardKind", "Unspecified");
  Arrives(NormKindFrom, "engine/model/transformer_spec.h", "NormKind", "Unspecified");
  Arrives(QueryKeyNormFrom, architecture, "QueryKeyNorm", "None");
  Arrives(OptimizerKindFrom, "engine/memory/training_policy.h", "OptimizerKind", "Adamw");
  Arrives(FlopsConventionFrom, kConvention, "FlopsConvention");
  Arrives(RateSourceFrom, kRates, "RateSource");
  Arrives(RecomputePolicyFrom, kStep, "RecomputePolicy", "None");
  Arrives(PipelineScheduleFrom, "engine/memory/schedule/pipeline_schedule.h", "PipelineSchedule",
          "OneForwardOneBackward");
  Arrives(ContextParallelKindFrom, kChoices, "ContextParallelKind");
  Arrives(ZeroStageFrom, kChoices, "ZeroStage");
  Arrives(LossKindFrom, kChoices, "LossKind");
  Arrives(WeightScalingFrom, "engine/memory/state/state_spec.h", "WeightScaling", "None");
  Arrives(AttentionKernelFrom, kMicroBatch, "AttentionKernel", "Flash");
  Arrives(ExpertScalingFrom, kMicroBatch, "ExpertScaling", "BeforeDown");
  Arrives(FrameworkFrom, kFramework, "Framework", "MegatronLm");
  Arrives(UpdateRuleFrom, "engine/operation/operation.h", "UpdateRule", "Adamw");
  const EnumPair collectives = {v1::CollectiveOperation_descriptor(),
                                "engine/hardware/links/collective.h", "CollectiveOp"};
  ExpectArrives(collectives, "AllReduce", [](int number) {
    return NumberOf(CollectiveOpFrom(static_cast<v1::CollectiveOperation>(number)));
  });
}

TEST(Enums, LeaveByTheirNames) {
  const std::string estimate = "engine/run/memory_estimate.h";
  const std::string row = "engine/memory/ledger_row.h";
  Leaves(DataTypeTo, kDataType, "DataType");
  Leaves(FlopsConventionTo, kConvention, "FlopsConvention");
  Leaves(RateSourceTo, kRates, "RateSource");
  Leaves(VerdictTo, "engine/memory/fit.h", "Verdict");
  Leaves(ChangeCostTo, estimate, "ChangeCost");
  Leaves(LedgerKindTo, row, "LedgerKind");
  Leaves(ElementKindTo, row, "RowElements");
  Leaves(PeakPhaseTo, "engine/memory/ledger/stage_memory.h", "PeakPhase");
  Leaves(ModelPartTo, "engine/model/architecture/weight_tensor.h", "ModelPart");
  Leaves(CapacitySourceTo, "engine/memory/fit.h", "CapacitySource");
  Leaves(EstimateKindTo, "engine/run/plan.h", "EstimateKind");
  Leaves(MfuBasisTo, "engine/run/plan.h", "MfuBasis");
  Leaves(ZeroStageTo, kChoices, "ZeroStage");
  Leaves(LossKindTo, kChoices, "LossKind");
  Leaves(AttentionKernelTo, kMicroBatch, "AttentionKernel");
  Leaves(FrameworkTo, kFramework, "Framework");
  Leaves(RecomputePolicyTo, kStep, "RecomputePolicy");
  Leaves(KernelBasisTo, "engine/hardware/kernels/kernel_time.h", "KernelBasis");
  ExpectSameNames({v1::NoteKind_descriptor(), "engine/base/note.h", "NoteKind"}, [](int kind) {
    v1::Note wire;
    NoteTo({static_cast<NoteKind>(kind), "text"}, &wire);
    return static_cast<int>(wire.kind());
  });
}

TEST(NoteTo, KeepsAllOfANote) {
  v1::Note wire;
  NoteTo({.kind = NoteKind::kDeviceCapacity,
          .text = "cluster.x is 5.",
          .values = {{"capacity_bytes", 5}, {"other_bytes", 0.5}},
          .fields = {"cluster.x", "cluster.y"},
          .names = {"a-server"}},
         &wire);
  EXPECT_THAT(wire, EqualsText(R"(
      kind: NOTE_KIND_DEVICE_CAPACITY subject: NOTE_SUBJECT_MEMORY text: "cluster.x is 5."
      fields: ["cluster.x", "cluster.y"]
      values { name: "capacity_bytes" value: 5 } values { name: "other_bytes" value: 0.5 }
      names: "a-server")"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

// The first kind of each subject.
TEST(NoteTo, SaysTheSubject) {
  const auto subject = [](NoteKind kind) {
    v1::Note wire;
    NoteTo({kind, ""}, &wire);
    return wire.subject();
  };
  EXPECT_EQ(subject(NoteKind::kFlopsConvention), v1::NOTE_SUBJECT_ARITHMETIC);
  EXPECT_EQ(subject(NoteKind::kSharedEvenly), v1::NOTE_SUBJECT_MEMORY);
  EXPECT_EQ(subject(NoteKind::kPeak), v1::NOTE_SUBJECT_TIME);
  EXPECT_EQ(subject(NoteKind::kPriceMissing), v1::NOTE_SUBJECT_ECONOMICS);
}

TEST(NotesTo, PartsWarningsFromAssumptions) {
  const Notes notes = {
      {NoteKind::kPeak, "a"}, {NoteKind::kPeakUnknown, "b"}, {NoteKind::kLinksIdle, "c"}};
  NoteList warnings;
  NoteList assumptions;
  NotesTo(notes, &warnings, &assumptions);
  EXPECT_THAT(warnings, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK_UNKNOWN, "b")));
  EXPECT_THAT(assumptions, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK, "a"),
                                       IsWireNote(v1::NOTE_KIND_LINKS_IDLE, "c")));
  NoteList alone;
  NotesTo(notes, &alone, nullptr);
  EXPECT_THAT(alone, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK_UNKNOWN, "b")));
}

TEST(SourceNumbers, SendEachSourceOnceAndNumberThemFromOne) {
  SourceNumbers::List list;
  SourceNumbers sources(&list);
  EXPECT_EQ(sources.Of("a sheet"), 1);
  EXPECT_EQ(sources.Of("a table"), 2);
  EXPECT_EQ(sources.Of("a sheet"), 1);
  EXPECT_EQ(sources.Of(""), 0);
  EXPECT_THAT(list, ElementsAre("a sheet", "a table"));
}

TEST(SourceNumbers, AreZeroWhereAnAnswerHasNoSources) {
  SourceNumbers sources(nullptr);
  EXPECT_EQ(sources.Of("a sheet"), 0);
  EXPECT_EQ(sources.Of("another"), 0);
}

}  // namespace
}  // namespace sextant::server
