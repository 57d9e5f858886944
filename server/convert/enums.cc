#include "server/convert/enums.h"

namespace sextant::server {
namespace {

// Returns true where `number` is one of the enum's; otherwise adds a violation.
bool IsKnown(bool valid, int number, const FieldName& field, FieldViolations& violations) {
  if (!valid) {
    violations.Add(field.text(), UnknownEnumNumber(number));
  }
  return valid;
}

// Converts an enum whose engine values are the wire's in the wire's order, from 0.
template <typename Engine, typename Wire>
Engine SameOrder(Wire wire, bool valid, const FieldName& field, FieldViolations& violations) {
  return IsKnown(valid, static_cast<int>(wire), field, violations) ? static_cast<Engine>(wire)
                                                                   : Engine{};
}

// SameOrder() for an engine enum without the wire's "unspecified": absent where the value is that,
// or unknown.
template <typename Engine, typename Wire>
absl::optional<Engine> Following(Wire wire, bool valid, const FieldName& field,
                                 FieldViolations& violations) {
  const int number = static_cast<int>(wire);
  if (!IsKnown(valid, number, field, violations) || number == 0) return absl::nullopt;
  return static_cast<Engine>(number - 1);
}

static_assert(static_cast<int>(DataType::kFp4) == v1::DATA_TYPE_FP4);
static_assert(static_cast<int>(DataType::kInt4) == v1::DATA_TYPE_INT4);
static_assert(v1::DataType_ARRAYSIZE == static_cast<int>(DataType::kInt4) + 1);
static_assert(static_cast<int>(FeedForwardKind::kGated) ==
              v1::TransformerSpec::FEED_FORWARD_KIND_GATED);
static_assert(static_cast<int>(NormKind::kNonParametric) ==
              v1::TransformerSpec::NORM_KIND_NON_PARAMETRIC);
static_assert(static_cast<int>(QueryKeyNorm::kAllHeads) ==
              v1::TransformerSpec::QUERY_KEY_NORM_ALL_HEADS);
static_assert(static_cast<int>(RateSource::kMeasuredSupplied) == v1::RATE_SOURCE_MEASURED_SUPPLIED);
static_assert(static_cast<int>(RateSource::kMeasuredDevice) == v1::RATE_SOURCE_MEASURED_DEVICE);
static_assert(static_cast<int>(RateSource::kMeasuredModel) == v1::RATE_SOURCE_MEASURED_MODEL);
static_assert(static_cast<int>(RateSource::kReference) == v1::RATE_SOURCE_REFERENCE);
static_assert(static_cast<int>(RateSource::kDatasheet) == v1::RATE_SOURCE_DATASHEET);
static_assert(static_cast<int>(RateSource::kRequest) == v1::RATE_SOURCE_REQUEST);
static_assert(static_cast<int>(FlopsConvention::kExactCausalDiagonal) + 1 ==
              v1::FLOPS_CONVENTION_EXACT_CAUSAL_DIAGONAL);
static_assert(static_cast<int>(FlopsConvention::kMegatronCausal) + 1 ==
              v1::FLOPS_CONVENTION_MEGATRON_CAUSAL);
static_assert(static_cast<int>(OptimizerKind::kAdam8bit) + 1 == v1::OptimizerSpec::KIND_ADAM_8BIT);

// True where the last value of an engine enum is the wire's last, without its "unspecified".
template <typename Engine>
constexpr bool Ends(Engine last, int wire_values) {
  return static_cast<int>(last) + 2 == wire_values;
}

static_assert(Ends(PipelineSchedule::kDualPipe, v1::PipelineSchedule_ARRAYSIZE));
static_assert(Ends(ContextParallelKind::kAllToAll, v1::ContextParallelKind_ARRAYSIZE));
static_assert(Ends(ZeroStage::kParameters, v1::ZeroStage_ARRAYSIZE));
static_assert(Ends(WeightScaling::kMx, v1::WeightStorage::Scaling_ARRAYSIZE));
static_assert(Ends(AttentionKernel::kUnfused, v1::KernelChoices::Attention_ARRAYSIZE));
static_assert(Ends(RecomputePolicy::kFull, v1::RecomputePolicy_ARRAYSIZE));
static_assert(Ends(LossKind::kVocabularyParallelCompiled, v1::KernelChoices::Loss_ARRAYSIZE));
static_assert(Ends(ExpertScaling::kAfterDown, v1::KernelChoices::ExpertScaling_ARRAYSIZE));
static_assert(Ends(Framework::kPytorchDdp, v1::FrameworkMemory::Kind_ARRAYSIZE));
static_assert(Ends(Verdict::kStateFits, v1::Verdict_ARRAYSIZE));
static_assert(kModelPartCount + 1 == v1::ModelPart_ARRAYSIZE);
static_assert(Ends(RowElements::kByte, v1::ElementKind_ARRAYSIZE));
static_assert(Ends(CapacitySource::kNominal, v1::CapacitySource_ARRAYSIZE));
static_assert(Ends(ChangeCost::kOtherRun, v1::ChangeCost_ARRAYSIZE));
static_assert(Ends(MfuBasis::kPredicted, v1::MfuBasis_ARRAYSIZE));
static_assert(Ends(EstimateKind::kPredicted, v1::EstimateKind_ARRAYSIZE));
static_assert(kLedgerKindCount + 1 == v1::LedgerKind_ARRAYSIZE);
static_assert(kPeakPhaseCount + 1 == v1::PeakPhase_ARRAYSIZE);

// The wire's enum of the same order, whose first value is not specified.
template <typename Wire, typename Own>
Wire After(Own value) {
  return static_cast<Wire>(static_cast<int>(value) + 1);
}

}  // namespace

DataType DataTypeFrom(v1::DataType wire, const FieldName& field, FieldViolations& violations) {
  return SameOrder<DataType>(wire, v1::DataType_IsValid(wire), field, violations);
}

FeedForwardKind FeedForwardKindFrom(v1::TransformerSpec::FeedForwardKind wire,
                                    const FieldName& field, FieldViolations& violations) {
  return SameOrder<FeedForwardKind>(wire, v1::TransformerSpec::FeedForwardKind_IsValid(wire), field,
                                    violations);
}

NormKind NormKindFrom(v1::TransformerSpec::NormKind wire, const FieldName& field,
                      FieldViolations& violations) {
  return SameOrder<NormKind>(wire, v1::TransformerSpec::NormKind_IsValid(wire), field, violations);
}

QueryKeyNorm QueryKeyNormFrom(v1::TransformerSpec::QueryKeyNorm wire, const FieldName& field,
                              FieldViolations& violations) {
  return SameOrder<QueryKeyNorm>(wire, v1::TransformerSpec::QueryKeyNorm_IsValid(wire), field,
                                 violations);
}

OptimizerKind OptimizerKindFrom(v1::OptimizerSpec::Kind wire, const FieldName& field,
                                FieldViolations& violations) {
  return Following<OptimizerKind>(wire, v1::OptimizerSpec::Kind_IsValid(wire), field, violations)
      .value_or(OptimizerKind::kAdamw);
}

absl::optional<FlopsConvention> FlopsConventionFrom(v1::FlopsConvention wire,
                                                    const FieldName& field,
                                                    FieldViolations& violations) {
  return Following<FlopsConvention>(wire, v1::FlopsConvention_IsValid(wire), field, violations);
}

absl::optional<RateSource> RateSourceFrom(v1::RateSource wire, const FieldName& field,
                                          FieldViolations& violations) {
  const bool known =
      IsKnown(v1::RateSource_IsValid(wire), static_cast<int>(wire), field, violations);
  if (!known || wire == v1::RATE_SOURCE_UNSPECIFIED) return absl::nullopt;
  return static_cast<RateSource>(wire);
}

RecomputePolicy RecomputePolicyFrom(v1::RecomputePolicy wire, const FieldName& field,
                                    FieldViolations& violations) {
  return Following<RecomputePolicy>(wire, v1::RecomputePolicy_IsValid(wire), field, violations)
      .value_or(RecomputePolicy::kNone);
}

PipelineSchedule PipelineScheduleFrom(v1::PipelineSchedule wire, const FieldName& field,
                                      FieldViolations& violations) {
  return Following<PipelineSchedule>(wire, v1::PipelineSchedule_IsValid(wire), field, violations)
      .value_or(PipelineSchedule::kOneForwardOneBackward);
}

absl::optional<ContextParallelKind> ContextParallelKindFrom(v1::ContextParallelKind wire,
                                                            const FieldName& field,
                                                            FieldViolations& violations) {
  return Following<ContextParallelKind>(wire, v1::ContextParallelKind_IsValid(wire), field,
                                        violations);
}

absl::optional<ZeroStage> ZeroStageFrom(v1::ZeroStage wire, const FieldName& field,
                                        FieldViolations& violations) {
  return Following<ZeroStage>(wire, v1::ZeroStage_IsValid(wire), field, violations);
}

WeightScaling WeightScalingFrom(v1::WeightStorage::Scaling wire, const FieldName& field,
                                FieldViolations& violations) {
  const bool valid = v1::WeightStorage::Scaling_IsValid(wire);
  return Following<WeightScaling>(wire, valid, field, violations).value_or(WeightScaling::kNone);
}

AttentionKernel AttentionKernelFrom(v1::KernelChoices::Attention wire, const FieldName& field,
                                    FieldViolations& violations) {
  const bool valid = v1::KernelChoices::Attention_IsValid(wire);
  return Following<AttentionKernel>(wire, valid, field, violations)
      .value_or(AttentionKernel::kFlash);
}

absl::optional<LossKind> LossKindFrom(v1::KernelChoices::Loss wire, const FieldName& field,
                                      FieldViolations& violations) {
  return Following<LossKind>(wire, v1::KernelChoices::Loss_IsValid(wire), field, violations);
}

ExpertScaling ExpertScalingFrom(v1::KernelChoices::ExpertScaling wire, const FieldName& field,
                                FieldViolations& violations) {
  const bool valid = v1::KernelChoices::ExpertScaling_IsValid(wire);
  return Following<ExpertScaling>(wire, valid, field, violations)
      .value_or(ExpertScaling::kBeforeDown);
}

Framework FrameworkFrom(v1::FrameworkMemory::Kind wire, const FieldName& field,
                        FieldViolations& violations) {
  return Following<Framework>(wire, v1::FrameworkMemory::Kind_IsValid(wire), field, violations)
      .value_or(Framework::kMegatronLm);
}

v1::DataType DataTypeTo(DataType type) { return static_cast<v1::DataType>(type); }
v1::RateSource RateSourceTo(RateSource source) { return static_cast<v1::RateSource>(source); }
v1::FlopsConvention FlopsConventionTo(FlopsConvention convention) {
  return After<v1::FlopsConvention>(convention);
}
v1::Verdict VerdictTo(Verdict verdict) { return After<v1::Verdict>(verdict); }
v1::LedgerKind LedgerKindTo(LedgerKind kind) { return After<v1::LedgerKind>(kind); }
v1::PeakPhase PeakPhaseTo(PeakPhase phase) { return After<v1::PeakPhase>(phase); }
v1::ModelPart ModelPartTo(ModelPart part) { return After<v1::ModelPart>(part); }
v1::ElementKind ElementKindTo(RowElements elements) { return After<v1::ElementKind>(elements); }
v1::CapacitySource CapacitySourceTo(CapacitySource source) {
  return After<v1::CapacitySource>(source);
}
v1::ChangeCost ChangeCostTo(ChangeCost cost) { return After<v1::ChangeCost>(cost); }
v1::EstimateKind EstimateKindTo(EstimateKind kind) { return After<v1::EstimateKind>(kind); }
v1::MfuBasis MfuBasisTo(MfuBasis basis) { return After<v1::MfuBasis>(basis); }
v1::ZeroStage ZeroStageTo(ZeroStage stage) { return After<v1::ZeroStage>(stage); }
v1::FrameworkMemory::Kind FrameworkTo(Framework framework) {
  return After<v1::FrameworkMemory::Kind>(framework);
}
v1::RecomputePolicy RecomputePolicyTo(RecomputePolicy policy) {
  return After<v1::RecomputePolicy>(policy);
}
v1::KernelChoices::Attention AttentionKernelTo(AttentionKernel kernel) {
  return After<v1::KernelChoices::Attention>(kernel);
}
v1::KernelChoices::Loss LossKindTo(LossKind loss) { return After<v1::KernelChoices::Loss>(loss); }

}  // namespace sextant::server
