// Enums between the wire and the engine.
#ifndef SEXTANT_SERVER_CONVERT_ENUMS_H_
#define SEXTANT_SERVER_CONVERT_ENUMS_H_

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
#include "server/convert/enum_pair.h"
#include "sextant/v1/data_type.pb.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/memory.pb.h"
#include "sextant/v1/model.pb.h"
#include "sextant/v1/model_count.pb.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/rates.pb.h"
#include "sextant/v1/training.pb.h"

namespace sextant::server {

using DataTypePair = SameNumbers<DataType::kInt4, v1::DataType_MAX>;
using FeedForwardKindPair =
    SameNumbers<FeedForwardKind::kGated, v1::TransformerSpec::FeedForwardKind_MAX>;
using NormKindPair = SameNumbers<NormKind::kNonParametric, v1::TransformerSpec::NormKind_MAX>;
using QueryKeyNormPair =
    SameNumbers<QueryKeyNorm::kAllHeads, v1::TransformerSpec::QueryKeyNorm_MAX>;
using RateSourcePair = SameNumbers<RateSource::kRequest, v1::RateSource_MAX>;
using OptimizerKindPair = OneLater<OptimizerKind::kGalore, v1::OptimizerSpec::Kind_MAX>;
using FlopsConventionPair =
    OneLater<FlopsConvention::kExactCausalDiagonal, v1::FlopsConvention_MAX>;
using PipelineSchedulePair = OneLater<PipelineSchedule::kDualPipe, v1::PipelineSchedule_MAX>;
using ContextParallelKindPair =
    OneLater<ContextParallelKind::kAllToAll, v1::ContextParallelKind_MAX>;
using MemoryEffectPair = SameNumbers<MemoryEffect::kRaises, v1::MemoryEffect_MAX>;
using ZeroStagePair = OneLater<ZeroStage::kParameters, v1::ZeroStage_MAX>;
using WeightScalingPair = OneLater<WeightScaling::kMx, v1::WeightStorage::Scaling_MAX>;
using AttentionKernelPair = OneLater<AttentionKernel::kUnfused, v1::KernelChoices::Attention_MAX>;
using RecomputePolicyPair = OneLater<RecomputePolicy::kOperators, v1::RecomputePolicy_MAX>;
using LossKindPair = OneLater<LossKind::kVocabularyParallelCompiled, v1::KernelChoices::Loss_MAX>;
using ExpertDispatchPair =
    OneLater<ExpertDispatch::kAllGather, v1::KernelChoices::ExpertDispatch_MAX>;
using ExpertScalingPair = OneLater<ExpertScaling::kAfterDown, v1::KernelChoices::ExpertScaling_MAX>;
using OptimizerLoopPair = OneLater<OptimizerLoop::kForLoop, v1::OptimizerSpec::Implementation_MAX>;
using ModelCodePair = OneLater<ModelCode::kLlmFoundry, v1::FrameworkMemory::ModelCode_MAX>;
using FrameworkPair = OneLater<Framework::kTorchtune, v1::FrameworkMemory::Kind_MAX>;
using VerdictPair = OneLater<Verdict::kStateFits, v1::Verdict_MAX>;
using RowElementsPair = OneLater<RowElements::kByte, v1::ElementKind_MAX>;
using CapacitySourcePair = OneLater<CapacitySource::kNominal, v1::CapacitySource_MAX>;
using ChangeCostPair = OneLater<ChangeCost::kOtherRun, v1::ChangeCost_MAX>;
using MfuBasisPair = OneLater<MfuBasis::kPredicted, v1::MfuBasis_MAX>;
using EstimateKindPair = OneLater<EstimateKind::kPredicted, v1::EstimateKind_MAX>;
using LedgerKindPair = OneLater<LedgerKind::kFrameworkReserve, v1::LedgerKind_MAX>;
using PeakPhasePair = OneLater<PeakPhase::kOptimizerStep, v1::PeakPhase_MAX>;
using ModelPartPair = OneLater<ModelPart::kMultiTokenPrediction, v1::ModelPart_MAX>;
using TracePassPair = OneLater<TracePass::kWeightGradient, v1::OperationPass_MAX>;
using StepRatePair = OneLater<StepRate::kHost, v1::StepSensitivity::Rate_MAX>;

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ENUMS_H_
