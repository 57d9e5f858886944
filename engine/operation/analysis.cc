#include "engine/operation/analysis.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// At least 0; a larger value matches no real function.
constexpr double kMaxTranscendentalFlops = 1e6;

bool ComesFromForward(ArrayRole role) {
  return role != ArrayRole::kGradient && role != ArrayRole::kScratch;
}

absl::Status CheckRequest(const OperationRequest& request, absl::string_view path) {
  FieldViolations violations;
  CheckOperation(request.operation, path, violations);
  // A copy between host and device moves bytes of any type.
  if (!std::holds_alternative<HostCopy>(request.operation)) {
    CheckTypes(request.types, "data_types", violations);
  }
  CheckConvention(request.convention, "", violations);
  return violations.ToStatus();
}

absl::Status AddSaved(const TrafficTerm& term, absl::string_view step,
                      std::vector<SavedArray>& saved) {
  if (term.written || !ComesFromForward(term.array.role)) return absl::OkStatus();
  const auto same = std::find_if(saved.begin(), saved.end(), [&term](const SavedArray& s) {
    return s.array.name == term.array.name;
  });
  if (same != saved.end()) {
    absl::StrAppend(&same->reason, "; so does ", step);
    return absl::OkStatus();
  }
  SEXTANT_ASSIGN_OR_RETURN(const int64_t elements, ElementsOf(term.array));
  saved.push_back({.array = term.array,
                   .elements = elements,
                   .size = term.size,
                   .held_anyway = term.array.role == ArrayRole::kParameter,
                   .reason = absl::StrCat(step, " reads it")});
  return absl::OkStatus();
}

// The first operand's bit if it is an input; 0 if it is a parameter.
OperandSet FirstInput(const OpKernels& kernels) {
  return kernels.operands[0].role == ArrayRole::kInput ? OperandBit(0) : 0;
}

absl::StatusOr<OperationAnalysis> Analyze(const OperationRequest& request) {
  OperationAnalysis out;
  out.name = OperationName(request.operation);
  out.types = WithDefaults(request.types);
  OpKernels kernels = OpKernelsOf(request.operation, {out.types, request.convention});
  SEXTANT_ASSIGN_OR_RETURN(out.forward, CostOf(kernels.forward, kEveryOperand));
  if (kernels.unfused.size() > 1) {
    SEXTANT_ASSIGN_OR_RETURN(out.unfused, CostOf(kernels.unfused, kEveryOperand));
  }
  if (kernels.differentiable != 0) {
    SEXTANT_ASSIGN_OR_RETURN(out.backward, BackwardCostOf(kernels, kernels.differentiable));
    const OperandSet rest = kernels.differentiable & ~FirstInput(kernels);
    if (rest != 0 && rest != kernels.differentiable) {
      SEXTANT_ASSIGN_OR_RETURN(out.backward_without_input, BackwardCostOf(kernels, rest));
    }
  }
  out.operands = std::move(kernels.operands);
  out.outputs = std::move(kernels.outputs);
  return out;
}

}  // namespace

void CheckConvention(const FlopConvention& convention, absl::string_view path,
                     FieldViolations& violations) {
  violations.RequireRange(path, "transcendental_flops", convention.transcendental,
                          FieldViolations::RealRange{.low = 0, .high = kMaxTranscendentalFlops});
}

void AddBelow(const absl::Status& status, absl::string_view path, FieldViolations& violations) {
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    const bool of_operation = v.field == "shape" && !path.empty();
    violations.Add(of_operation ? path : FieldPath(path, v.field), v.description);
  }
}

absl::StatusOr<BackwardCost> BackwardCostOf(const OpKernels& kernels, OperandSet needed) {
  BackwardCost out;
  SEXTANT_ASSIGN_OR_RETURN(out.cost, CostOf(kernels.backward, needed));
  for (const StepCost& step : out.cost.steps) {
    for (const TrafficTerm& term : step.traffic) {
      SEXTANT_RETURN_IF_ERROR(AddSaved(term, step.name, out.saved));
    }
  }
  for (const SavedArray& s : out.saved) {
    if (!s.held_anyway) out.saved_bytes = out.saved_bytes + s.size;
  }
  return out;
}

absl::StatusOr<OperationAnalysis> AnalyzeOperation(const OperationRequest& request,
                                                   absl::string_view path) {
  SEXTANT_RETURN_IF_ERROR(CheckRequest(request, path));
  absl::StatusOr<OperationAnalysis> out = Analyze(request);
  if (out.ok()) return out;
  FieldViolations violations;
  AddBelow(out.status(), path, violations);
  return violations.ToStatus();
}

}  // namespace sextant
