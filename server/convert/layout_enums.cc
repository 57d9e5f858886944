#include "server/convert/layout_enums.h"

#include "server/convert/enums.h"

namespace sextant {
namespace {

// Of an engine enum that lists the wire's values in the wire's order, without "unspecified".
// Absent where it is that, or not known.
template <typename Engine, typename Wire>
absl::optional<Engine> Following(Wire wire, bool valid, absl::string_view field,
                                 FieldViolations& violations) {
  const int number = static_cast<int>(wire);
  if (!valid) violations.Add(field, UnknownEnumNumber(number));
  if (!valid || number == 0) return absl::nullopt;
  return static_cast<Engine>(number - 1);
}

// Whether the last value of an engine enum is the last one of the wire's.
template <typename Engine>
constexpr bool Ends(Engine last, int wire_values) {
  return static_cast<int>(last) + 2 == wire_values;
}

static_assert(Ends(PipelineSchedule::kDualPipe, v1::PipelineSchedule_ARRAYSIZE));
static_assert(Ends(ZeroStage::kParameters, v1::ZeroStage_ARRAYSIZE));
static_assert(Ends(WeightScaling::kMx, v1::WeightStorage::Scaling_ARRAYSIZE));
static_assert(Ends(AttentionKernel::kUnfused, v1::KernelChoices::Attention_ARRAYSIZE));
static_assert(Ends(LossKind::kVocabularyParallelCompiled, v1::KernelChoices::Loss_ARRAYSIZE));
static_assert(Ends(ExpertScaling::kAfterDown, v1::KernelChoices::ExpertScaling_ARRAYSIZE));
static_assert(Ends(Framework::kPytorchFsdp, v1::FrameworkMemory::Kind_ARRAYSIZE));
static_assert(kLedgerKindCount + 1 == v1::LedgerKind_ARRAYSIZE);
static_assert(kPeakMomentCount + 1 == v1::PeakMoment_ARRAYSIZE);

}  // namespace

PipelineSchedule PipelineScheduleFrom(v1::PipelineSchedule wire, absl::string_view field,
                                      FieldViolations& violations) {
  return Following<PipelineSchedule>(wire, v1::PipelineSchedule_IsValid(wire), field, violations)
      .value_or(PipelineSchedule::kOneForwardOneBackward);
}

absl::optional<ZeroStage> ZeroStageFrom(v1::ZeroStage wire, absl::string_view field,
                                        FieldViolations& violations) {
  return Following<ZeroStage>(wire, v1::ZeroStage_IsValid(wire), field, violations);
}

WeightScaling WeightScalingFrom(v1::WeightStorage::Scaling wire, absl::string_view field,
                                FieldViolations& violations) {
  const bool valid = v1::WeightStorage::Scaling_IsValid(wire);
  return Following<WeightScaling>(wire, valid, field, violations).value_or(WeightScaling::kNone);
}

AttentionKernel AttentionKernelFrom(v1::KernelChoices::Attention wire, absl::string_view field,
                                    FieldViolations& violations) {
  const bool valid = v1::KernelChoices::Attention_IsValid(wire);
  return Following<AttentionKernel>(wire, valid, field, violations)
      .value_or(AttentionKernel::kFlash);
}

LossKind LossKindFrom(v1::KernelChoices::Loss wire, absl::string_view field,
                      FieldViolations& violations) {
  return Following<LossKind>(wire, v1::KernelChoices::Loss_IsValid(wire), field, violations)
      .value_or(LossKind::kVocabularyParallel);
}

ExpertScaling ExpertScalingFrom(v1::KernelChoices::ExpertScaling wire, absl::string_view field,
                                FieldViolations& violations) {
  const bool valid = v1::KernelChoices::ExpertScaling_IsValid(wire);
  return Following<ExpertScaling>(wire, valid, field, violations)
      .value_or(ExpertScaling::kBeforeDown);
}

Framework FrameworkFrom(v1::FrameworkMemory::Kind wire, absl::string_view field,
                        FieldViolations& violations) {
  return Following<Framework>(wire, v1::FrameworkMemory::Kind_IsValid(wire), field, violations)
      .value_or(Framework::kMegatronLm);
}

v1::Verdict VerdictTo(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return v1::VERDICT_FITS;
    case Verdict::kTight:
      return v1::VERDICT_TIGHT;
    case Verdict::kDoesNotFit:
      break;
  }
  return v1::VERDICT_DOES_NOT_FIT;
}

v1::LedgerKind LedgerKindTo(LedgerKind kind) {
  return static_cast<v1::LedgerKind>(static_cast<int>(kind) + 1);
}

v1::PeakMoment PeakMomentTo(PeakMoment moment) {
  return static_cast<v1::PeakMoment>(static_cast<int>(moment) + 1);
}

}  // namespace sextant
