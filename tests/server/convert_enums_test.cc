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

// The wire's values that `Pair` reads, and the engine's that it writes, have the same names.
template <typename Pair>
void Arrives(const std::string& header, const std::string& name) {
  using Wire = typename Pair::Wire;
  ExpectArrives({google::protobuf::GetEnumDescriptor<Wire>(), header, name}, "",
                [](int number) -> absl::optional<int> {
                  FieldViolations violations;
                  const auto out = Pair::Find(static_cast<Wire>(number), "f", violations);
                  EXPECT_TRUE(violations.empty());
                  EXPECT_EQ(Pair::Known(static_cast<Wire>(number)),
                            out.value_or(typename Pair::Engine{}));
                  if (!out.has_value()) return absl::nullopt;
                  return static_cast<int>(*out);
                });
  // Numbers of a newer version have no meaning here.
  for (const int number : {-1, 99}) {
    FieldViolations unknown;
    EXPECT_EQ(Pair::Find(static_cast<Wire>(number), "f", unknown), absl::nullopt);
    EXPECT_EQ(unknown.all().size(), 1u);
  }
}
template <typename Pair>
void Leaves(const std::string& header, const std::string& name) {
  ExpectSameNames({google::protobuf::GetEnumDescriptor<typename Pair::Wire>(), header, name},
                  [](int value) {
                    return static_cast<int>(Pair::To(static_cast<typename Pair::Engine>(value)));
                  });
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
  Arrives<DataTypePair>(kDataType, "DataType");
  Arrives<FeedForwardKindPair>(architecture, "FeedForwardKind");
  Arrives<NormKindPair>("engine/model/transformer_spec.h", "NormKind");
  Arrives<QueryKeyNormPair>(architecture, "QueryKeyNorm");
  Arrives<OptimizerKindPair>("engine/memory/training_policy.h", "OptimizerKind");
  Arrives<FlopsConventionPair>(kConvention, "FlopsConvention");
  Arrives<RateSourcePair>(kRates, "RateSource");
  Arrives<RecomputePolicyPair>(kStep, "RecomputePolicy");
  Arrives<PipelineSchedulePair>("engine/memory/schedule/pipeline_schedule.h", "PipelineSchedule");
  Arrives<ContextParallelKindPair>(kChoices, "ContextParallelKind");
  Arrives<ZeroStagePair>(kChoices, "ZeroStage");
  Arrives<LossKindPair>(kChoices, "LossKind");
  Arrives<WeightScalingPair>("engine/memory/state/state_spec.h", "WeightScaling");
  Arrives<AttentionKernelPair>(kMicroBatch, "AttentionKernel");
  Arrives<ExpertScalingPair>(kMicroBatch, "ExpertScaling");
  Arrives<ExpertDispatchPair>(kMicroBatch, "ExpertDispatch");
  Arrives<FrameworkPair>(kFramework, "Framework");
  Arrives<UpdateRulePair>("engine/operation/operation.h", "UpdateRule");
  Arrives<CollectiveOpPair>("engine/hardware/links/collective.h", "CollectiveOp");
}

TEST(Enums, LeaveByTheirNames) {
  const std::string row = "engine/memory/ledger_row.h";
  Leaves<DataTypePair>(kDataType, "DataType");
  Leaves<FlopsConventionPair>(kConvention, "FlopsConvention");
  Leaves<RateSourcePair>(kRates, "RateSource");
  Leaves<VerdictPair>("engine/memory/fit.h", "Verdict");
  Leaves<ChangeCostPair>("engine/run/memory_estimate.h", "ChangeCost");
  Leaves<LedgerKindPair>(row, "LedgerKind");
  Leaves<RowElementsPair>(row, "RowElements");
  Leaves<PeakPhasePair>("engine/memory/ledger/stage_memory.h", "PeakPhase");
  Leaves<ModelPartPair>("engine/model/architecture/weight_tensor.h", "ModelPart");
  Leaves<CapacitySourcePair>("engine/memory/fit.h", "CapacitySource");
  Leaves<EstimateKindPair>("engine/run/whole_run.h", "EstimateKind");
  Leaves<MfuBasisPair>("engine/run/whole_run.h", "MfuBasis");
  Leaves<ZeroStagePair>(kChoices, "ZeroStage");
  Leaves<LossKindPair>(kChoices, "LossKind");
  Leaves<AttentionKernelPair>(kMicroBatch, "AttentionKernel");
  Leaves<FrameworkPair>(kFramework, "Framework");
  Leaves<RecomputePolicyPair>(kStep, "RecomputePolicy");
  Leaves<KernelBasisPair>("engine/hardware/kernels/kernel_time.h", "KernelBasis");
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
