#include "engine/run/run_flops.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/flops_by_convention.h"
#include "engine/model/flops/published_formulas.h"
#include "engine/run/run_spec.h"

namespace sextant {
namespace {

using enum FlopsConvention;

// The reason why 6 N can't count the model; empty where it can.
absl::string_view WhyNotSixN(const FlopsSubject& subject) {
  if (subject.model == nullptr) return "";
  if (HasTwoStacks(subject.model->spec())) {
    return "encoder and decoder have tokens of their own, so that none meets all parameters";
  }
  return HasFrozen(subject.model->spec()) ? "some parameters are frozen, and 6 N trains them all"
                                          : "";
}

FlopsCount SixN(FlopsConvention convention, int64_t parameters, int64_t tokens) {
  return {convention, TrainingFlopsPerToken(parameters), TrainingFlops(parameters, tokens)};
}

absl::StatusOr<RunFlops> WithoutLength(const RunSpec& run, const FlopsSubject& subject) {
  if (const absl::string_view why = WhyNotSixN(subject); !why.empty()) {
    return InvalidField("training.sequence_length", absl::StrCat("is required: ", why));
  }
  RunFlops out;
  const int64_t tokens = run.training.token_count;
  out.counts.push_back(SixN(kSixNTotal, subject.parameters.all.active, tokens));
  if (subject.model != nullptr) {
    out.counts.push_back(
        SixN(kSixNNonEmbedding, subject.parameters.active_non_embedding(), tokens));
  }
  out.convention = run.options.flops_convention.value_or(kSixNTotal);
  for (const FlopsCount& count : out.counts) {
    if (count.convention == out.convention) return out;
  }
  return InvalidField("options.flops_convention",
                      absl::StrCat("needs training.sequence_length and a model with a shape: ",
                                   FactsOf(out.convention).name, " counts attention"));
}

HardwareShare HardwareShareOf(const StepFlops& flops, FlopsConvention convention) {
  const MaskConvention mask = convention == kExactFull             ? MaskConvention::kFull
                              : convention == kExactCausalDiagonal ? MaskConvention::kCausalDiagonal
                                                                   : MaskConvention::kCausal;
  const PassFlops& passes = flops.PerToken(mask);
  return {passes.HardwareWithoutFlashRecompute(), passes.Model()};
}

absl::Status CheckConvention(const ConventionFlops& asked) {
  constexpr char kField[] = "options.flops_convention";
  if (!asked.not_applicable.empty()) {
    return InvalidField(
        kField,
        absl::StrCat("says nothing about this model: ", asked.not_applicable, "; leave it out"));
  }
  if (FactsOf(asked.convention).kind == FlopsKind::kHardware) {
    return InvalidField(kField,
                        "counts hardware FLOPs, with which an MFU would be none: leave it out, or "
                        "write a convention of model FLOPs");
  }
  return absl::OkStatus();
}

}  // namespace

const FlopsCount& RunFlops::Of(FlopsConvention wanted) const {
  for (const FlopsCount& count : counts) {
    if (count.convention == wanted) return count;
  }
  return counts.front();  // RunFlopsOf() lets no other convention through
}

absl::StatusOr<RunFlops> RunFlopsOf(const RunSpec& run, const FlopsSubject& subject) {
  if (!run.training.sequence_length.has_value() || subject.model == nullptr) {
    return WithoutLength(run, subject);
  }
  const CheckedModel& model = *subject.model;
  const TrainingStepSpec step = StepOf(run.training);
  const StepFlops flops = CountFlops(model.spec(), model.tensors(), step, FlopsDetail::kComponents);
  const ConventionInput input = {
      .spec = model.spec(), .tensors = model.tensors(), .step = step, .flops = flops};
  RunFlops out;
  out.convention = run.options.flops_convention.value_or(kExactCausal);
  out.hardware = HardwareShareOf(flops, out.convention);
  const bool full = run.options.full;
  std::vector<ConventionFlops> all =
      full ? FlopsByConvention(input) : std::vector{FlopsUnder(out.convention, input)};
  SEXTANT_RETURN_IF_ERROR(CheckConvention(all[full ? static_cast<size_t>(out.convention) : 0]));
  for (ConventionFlops& count : all) {
    if (!count.not_applicable.empty()) continue;
    out.counts.push_back({count.convention, count.per_token,
                          count.per_token * static_cast<double>(run.training.token_count),
                          std::move(count.differences)});
  }
  if (!full) return out;
  for (const ComponentFlops& component : flops.components) {
    out.products.push_back(
        component.per_token[static_cast<size_t>(MaskConvention::kCausal)].Model());
  }
  return out;
}

}  // namespace sextant
