#include <gtest/gtest.h>

#include "server/convert/calibration.h"
#include "server/convert/enums.h"
#include "server/convert/kernel.h"
#include "server/convert/notes.h"
#include "server/convert/operation.h"
#include "tests/server/enum_names.h"

namespace sextant::server {
namespace {

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

TEST(Enums, ArriveByTheirNames) {
  using Transformer = v1::TransformerSpec;
  using Kernels = v1::KernelChoices;
  ExpectArrives({v1::DataType_descriptor(), "engine/tensor/data_type.h", "DataType"}, "Unspecified",
                By(DataTypeFrom));
  ExpectArrives({Transformer::FeedForwardKind_descriptor(),
                 "engine/model/architecture/architecture_spec.h", "FeedForwardKind"},
                "Unspecified", By(FeedForwardKindFrom));
  ExpectArrives({Transformer::NormKind_descriptor(), "engine/model/transformer_spec.h", "NormKind"},
                "Unspecified", By(NormKindFrom));
  ExpectArrives({Transformer::QueryKeyNorm_descriptor(),
                 "engine/model/architecture/architecture_spec.h", "QueryKeyNorm"},
                "None", By(QueryKeyNormFrom));
  ExpectArrives(
      {v1::OptimizerSpec::Kind_descriptor(), "engine/memory/training_policy.h", "OptimizerKind"},
      "Adamw", By(OptimizerKindFrom));
  ExpectArrives(
      {v1::FlopsConvention_descriptor(), "engine/model/flops/convention.h", "FlopsConvention"}, "",
      By(FlopsConventionFrom));
  ExpectArrives({v1::RateSource_descriptor(), "engine/hardware/rates.h", "RateSource"}, "",
                By(RateSourceFrom));
  ExpectArrives(
      {v1::RecomputePolicy_descriptor(), "engine/model/flops/training_step.h", "RecomputePolicy"},
      "None", By(RecomputePolicyFrom));
  ExpectArrives({v1::PipelineSchedule_descriptor(), "engine/memory/schedule/pipeline_schedule.h",
                 "PipelineSchedule"},
                "OneForwardOneBackward", By(PipelineScheduleFrom));
  const std::string choices = "engine/model/trace/training_choices.h";
  ExpectArrives({v1::ContextParallelKind_descriptor(), choices, "ContextParallelKind"}, "",
                By(ContextParallelKindFrom));
  ExpectArrives({v1::ZeroStage_descriptor(), choices, "ZeroStage"}, "", By(ZeroStageFrom));
  ExpectArrives({Kernels::Loss_descriptor(), choices, "LossKind"}, "", By(LossKindFrom));
  ExpectArrives({v1::WeightStorage::Scaling_descriptor(), "engine/memory/state/state_spec.h",
                 "WeightScaling"},
                "None", By(WeightScalingFrom));
  const std::string micro_batch = "engine/model/trace/micro_batch.h";
  ExpectArrives({Kernels::Attention_descriptor(), micro_batch, "AttentionKernel"}, "Flash",
                By(AttentionKernelFrom));
  ExpectArrives({Kernels::ExpertScaling_descriptor(), micro_batch, "ExpertScaling"}, "BeforeDown",
                By(ExpertScalingFrom));
  ExpectArrives(
      {v1::FrameworkMemory::Kind_descriptor(), "engine/framework/framework.h", "Framework"},
      "MegatronLm", By(FrameworkFrom));
  ExpectArrives({v1::UpdateRule_descriptor(), "engine/operation/operation.h", "UpdateRule"},
                "Adamw", By(UpdateRuleFrom));
  const EnumPair collectives = {v1::CollectiveOperation_descriptor(),
                                "engine/hardware/links/collective.h", "CollectiveOp"};
  ExpectArrives(collectives, "AllReduce", [](int number) {
    return NumberOf(CollectiveOpFrom(static_cast<v1::CollectiveOperation>(number)));
  });
}

TEST(Enums, LeaveByTheirNames) {
  ExpectSameNames({v1::DataType_descriptor(), "engine/tensor/data_type.h", "DataType"},
                  By(DataTypeTo));
  ExpectSameNames(
      {v1::FlopsConvention_descriptor(), "engine/model/flops/convention.h", "FlopsConvention"},
      By(FlopsConventionTo));
  ExpectSameNames({v1::RateSource_descriptor(), "engine/hardware/rates.h", "RateSource"},
                  By(RateSourceTo));
  const std::string estimate = "engine/run/memory_estimate.h";
  ExpectSameNames({v1::Verdict_descriptor(), estimate, "Verdict"}, By(VerdictTo));
  ExpectSameNames({v1::ChangeCost_descriptor(), estimate, "ChangeCost"}, By(ChangeCostTo));
  const std::string row = "engine/memory/ledger_row.h";
  ExpectSameNames({v1::LedgerKind_descriptor(), row, "LedgerKind"}, By(LedgerKindTo));
  ExpectSameNames({v1::ElementKind_descriptor(), row, "RowElements"}, By(ElementKindTo));
  ExpectSameNames({v1::PeakPhase_descriptor(), "engine/memory/ledger/stage_memory.h", "PeakPhase"},
                  By(PeakPhaseTo));
  ExpectSameNames(
      {v1::ModelPart_descriptor(), "engine/model/architecture/weight_tensor.h", "ModelPart"},
      By(ModelPartTo));
  ExpectSameNames({v1::CapacitySource_descriptor(), "engine/memory/fit.h", "CapacitySource"},
                  By(CapacitySourceTo));
  ExpectSameNames({v1::EstimateKind_descriptor(), "engine/run/plan.h", "EstimateKind"},
                  By(EstimateKindTo));
  ExpectSameNames({v1::MfuBasis_descriptor(), "engine/run/plan.h", "MfuBasis"}, By(MfuBasisTo));
  const std::string choices = "engine/model/trace/training_choices.h";
  ExpectSameNames({v1::ZeroStage_descriptor(), choices, "ZeroStage"}, By(ZeroStageTo));
  ExpectSameNames({v1::KernelChoices::Loss_descriptor(), choices, "LossKind"}, By(LossKindTo));
  ExpectSameNames({v1::KernelChoices::Attention_descriptor(), "engine/model/trace/micro_batch.h",
                   "AttentionKernel"},
                  By(AttentionKernelTo));
  ExpectSameNames(
      {v1::FrameworkMemory::Kind_descriptor(), "engine/framework/framework.h", "Framework"},
      By(FrameworkTo));
  ExpectSameNames(
      {v1::RecomputePolicy_descriptor(), "engine/model/flops/training_step.h", "RecomputePolicy"},
      By(RecomputePolicyTo));
  ExpectSameNames(
      {v1::KernelBasis_descriptor(), "engine/hardware/kernels/kernel_time.h", "KernelBasis"},
      By(KernelBasisTo));
  ExpectSameNames({v1::NoteKind_descriptor(), "engine/base/note.h", "NoteKind"}, [](int kind) {
    v1::Note wire;
    NoteTo({static_cast<NoteKind>(kind), "text"}, &wire);
    return static_cast<int>(wire.kind());
  });
}

}  // namespace
}  // namespace sextant::server
