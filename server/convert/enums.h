// Enums between the wire and the engine.
#ifndef SEXTANT_SERVER_CONVERT_ENUMS_H_
#define SEXTANT_SERVER_CONVERT_ENUMS_H_

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/rates.h"
#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/state/state_spec.h"
#include "engine/memory/training_policy.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/training_step.h"
#include "engine/model/trace/micro_batch.h"
#include "engine/model/transformer_spec.h"
#include "engine/run/plan.h"
#include "engine/tensor/data_type.h"
#include "proto/check/field_checker.h"
#include "sextant/v1/data_type.pb.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/memory.pb.h"
#include "sextant/v1/model.pb.h"
#include "sextant/v1/model_count.pb.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/rates.pb.h"
#include "sextant/v1/training.pb.h"

namespace sextant::server {

using check::UnknownEnumNumber;

// From the wire. proto3 lets any number through: one that this version does not know is a violation
// at `field` and becomes the enum's default, as does the unspecified value.
DataType DataTypeFrom(v1::DataType wire, const FieldName& field, FieldViolations& violations);
FeedForwardKind FeedForwardKindFrom(v1::TransformerSpec::FeedForwardKind wire,
                                    const FieldName& field, FieldViolations& violations);
NormKind NormKindFrom(v1::TransformerSpec::NormKind wire, const FieldName& field,
                      FieldViolations& violations);
QueryKeyNorm QueryKeyNormFrom(v1::TransformerSpec::QueryKeyNorm wire, const FieldName& field,
                              FieldViolations& violations);
OptimizerKind OptimizerKindFrom(v1::OptimizerSpec::Kind wire, const FieldName& field,
                                FieldViolations& violations);
// Absent: unspecified.
absl::optional<FlopsConvention> FlopsConventionFrom(v1::FlopsConvention wire,
                                                    const FieldName& field,
                                                    FieldViolations& violations);
absl::optional<RateSource> RateSourceFrom(v1::RateSource wire, const FieldName& field,
                                          FieldViolations& violations);
RecomputePolicy RecomputePolicyFrom(v1::RecomputePolicy wire, const FieldName& field,
                                    FieldViolations& violations);
PipelineSchedule PipelineScheduleFrom(v1::PipelineSchedule wire, const FieldName& field,
                                      FieldViolations& violations);
// Absent: unspecified.
absl::optional<ContextParallelKind> ContextParallelKindFrom(v1::ContextParallelKind wire,
                                                            const FieldName& field,
                                                            FieldViolations& violations);
absl::optional<ZeroStage> ZeroStageFrom(v1::ZeroStage wire, const FieldName& field,
                                        FieldViolations& violations);
WeightScaling WeightScalingFrom(v1::WeightStorage::Scaling wire, const FieldName& field,
                                FieldViolations& violations);
AttentionKernel AttentionKernelFrom(v1::KernelChoices::Attention wire, const FieldName& field,
                                    FieldViolations& violations);
absl::optional<LossKind> LossKindFrom(v1::KernelChoices::Loss wire, const FieldName& field,
                                      FieldViolations& violations);
ExpertScaling ExpertScalingFrom(v1::KernelChoices::ExpertScaling wire, const FieldName& field,
                                FieldViolations& violations);
Framework FrameworkFrom(v1::FrameworkMemory::Kind wire, const FieldName& field,
                        FieldViolations& violations);

// To the wire.
v1::DataType DataTypeTo(DataType type);
v1::FlopsConvention FlopsConventionTo(FlopsConvention convention);
v1::RateSource RateSourceTo(RateSource source);
v1::Verdict VerdictTo(Verdict verdict);
v1::LedgerKind LedgerKindTo(LedgerKind kind);
v1::PeakPhase PeakPhaseTo(PeakPhase phase);
v1::ModelPart ModelPartTo(ModelPart part);
v1::ElementKind ElementKindTo(RowElements elements);
v1::CapacitySource CapacitySourceTo(CapacitySource source);
v1::ChangeCost ChangeCostTo(ChangeCost cost);
v1::EstimateKind EstimateKindTo(EstimateKind kind);
v1::MfuBasis MfuBasisTo(MfuBasis basis);
v1::ZeroStage ZeroStageTo(ZeroStage stage);
v1::FrameworkMemory::Kind FrameworkTo(Framework framework);
v1::RecomputePolicy RecomputePolicyTo(RecomputePolicy policy);
v1::KernelChoices::Attention AttentionKernelTo(AttentionKernel kernel);
v1::KernelChoices::Loss LossKindTo(LossKind loss);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ENUMS_H_
