#include "engine/operation/roofline.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr double kMinRate = 1;  // so that every quotient is finite
constexpr double kMaxRate = 1e24;
constexpr double kMaxLaunchSeconds = 1;
constexpr double kMaxFlops = 1e40;
constexpr double kMinSeconds = 1e-15;  // so that every quotient is finite
constexpr double kMaxSeconds = 1e24;
constexpr int64_t kMaxDevices = 1'000'000'000;

absl::Status CheckCost(const OperationCost& cost, const DeviceRates& rates) {
  const FieldViolations::RealRange range = {.low = kMinRate, .high = kMaxRate};
  FieldViolations violations;
  if (rates.matrix) {
    violations.RequireRange("", "matrix_flops_per_second", rates.matrix->value(), range);
  } else if (cost.sum.matrix_flops > Flops(0)) {
    violations.Add("matrix_flops_per_second", "is required: the operation multiplies matrices");
  }
  if (rates.general) {
    violations.RequireRange("", "general_flops_per_second", rates.general->value(), range);
  }
  violations.RequireRange("", "memory_bytes_per_second", rates.memory.value(), range);
  violations.RequireRange("", "launch_seconds", rates.launch.value(),
                          FieldViolations::RealRange{.low = 0, .high = kMaxLaunchSeconds});
  return violations.ToStatus();
}

struct Times {
  double compute = 0;
  double memory = 0;
};

Times TimesOf(const CostSum& sum, const DeviceRates& rates) {
  const absl::optional<FlopsPerSecond> general = rates.general ? rates.general : rates.matrix;
  Seconds compute;
  if (rates.matrix) compute = sum.matrix_flops / *rates.matrix;
  if (general) compute = compute + sum.other_flops / *general;
  return {.compute = compute.value(),
          .memory = static_cast<double>(sum.moved().value()) / rates.memory.value()};
}

// Normalised by the larger one, so that no power overflows.
double SmoothMaximum(Times t) {
  const double larger = std::max(t.compute, t.memory);
  if (larger == 0) return 0;
  const double ratio = std::min(t.compute, t.memory) / larger;
  return larger * std::pow(1 + std::pow(ratio, kRooflineExponent), 1 / kRooflineExponent);
}

double RidgeOf(const CostSum& sum, double compute, const DeviceRates& rates) {
  const double idle = rates.matrix.value_or(rates.general.value_or(FlopsPerSecond(0))).value();
  const double rate = compute > 0 ? sum.flops().value() / compute : idle;
  return rate / rates.memory.value();
}

// The field that counts rows, and its name; null where an operation has none.
struct Rows {
  int64_t* field = nullptr;
  absl::string_view name;
};

Rows RowsOf(Operation& operation) {
  if (auto* op = std::get_if<Matmul>(&operation)) return {&op->m, "m"};
  if (auto* op = std::get_if<BatchedMatmul>(&operation)) return {&op->m, "m"};
  if (auto* op = std::get_if<Linear>(&operation)) return {&op->rows, "rows"};
  if (auto* op = std::get_if<Experts>(&operation)) return {&op->tokens, "tokens"};
  return {};
}

// The forward cost of `operation`, which has passed CheckOperation(), except perhaps for its rows.
absl::StatusOr<OperationCost> ForwardCost(const OperationRequest& request) {
  const OpKernels kernels =
      OpKernelsOf(request.operation, {WithDefaults(request.types), request.convention});
  return CostOf(kernels.forward, kEveryOperand);
}

// False also where the sizes overflow: the caller skips such sizes.
bool IsComputeBound(const OperationRequest& request, const DeviceRates& rates) {
  const auto cost = ForwardCost(request);
  if (!cost.ok()) return false;
  const auto roofline = RooflineOf(*cost, rates);
  return roofline.ok() && roofline->bound == RooflineBound::kCompute;
}

// The largest power of two whose sizes don't overflow.
int64_t LargestRows(OperationRequest& request, int64_t& rows) {
  rows = kMaxDimension;
  while (rows > 1 && !ForwardCost(request).ok()) rows /= 2;
  return rows;
}

Advice RowsAdvice(const OperationRequest& request, absl::string_view rows,
                  const DeviceRates& rates) {
  if (const auto at_ridge = RowsAtRidge(request, rates); at_ridge.has_value()) {
    return {AdviceKind::kMoreRows,
            absl::StrCat("memory-bound: batch until ", rows, " = ", *at_ridge,
                         " to reach the ridge, since what is read of the other operand is then "
                         "used by more rows"),
            {{"rows_at_ridge", *at_ridge}}};
  }
  return {AdviceKind::kFuse,
          absl::StrCat("memory-bound at any ", rows,
                       ": the other sizes are too small to reach the ridge; make them larger, "
                       "or fuse with the neighbours")};
}

// The bytes that the fused kernel moves over those of its separate steps; 1 where there are none.
double FusedBytesRatio(const OperationAnalysis& analysis) {
  if (!analysis.unfused.has_value()) return 1;
  return static_cast<double>(analysis.forward.sum.moved().value()) /
         static_cast<double>(analysis.unfused->sum.moved().value());
}

Advice MemoryAdvice(const OperationRequest& request, const OperationAnalysis& analysis,
                    const DeviceRates& rates) {
  OperationRequest copy = request;
  if (const Rows rows = RowsOf(copy.operation); rows.field != nullptr) {
    return RowsAdvice(request, rows.name, rates);
  }
  const auto* attention = std::get_if<Attention>(&request.operation);
  if (attention != nullptr && !attention->fused) {
    return {AdviceKind::kFuse, "memory-bound: use a fused kernel, which moves no matrix of scores"};
  }
  if (std::holds_alternative<OptimizerUpdate>(request.operation)) {
    return {AdviceKind::kFewerBytes,
            "memory-bound at any size: keep the state in fewer bytes, or shard it over devices"};
  }
  if (std::holds_alternative<EmbeddingLookup>(request.operation)) {
    return {AdviceKind::kFewerBytes,
            "memory-bound at any size, since a lookup does no arithmetic: keep the table in fewer "
            "bytes"};
  }
  Advice out = {AdviceKind::kFuse,
                "memory-bound at any size: fuse with its neighbours, so that what lies between "
                "them never leaves the chip"};
  if (const double ratio = FusedBytesRatio(analysis); ratio < 1) {
    absl::StrAppendFormat(&out.text, " (one kernel moves %.2g of the bytes of its separate steps)",
                          ratio);
    out.values.push_back({"fused_bytes_ratio", ratio});
  }
  return out;
}

UtilisationReading ReadingOf(double ratio) {
  if (ratio > 1) return UtilisationReading::kImpossible;
  if (ratio >= 0.5) return UtilisationReading::kGood;
  if (ratio >= 0.3) return UtilisationReading::kUsual;
  if (ratio >= 0.1) return UtilisationReading::kLow;
  return UtilisationReading::kWaiting;
}

absl::string_view ExplanationOf(UtilisationReading reading) {
  switch (reading) {
    case UtilisationReading::kImpossible:
      return "Impossible: the peak is another format's, the time was taken before the device had "
             "finished, or FLOPs are counted that are not done (a full mask where half is).";
    case UtilisationReading::kGood:
      return "Good: most of the time is matrix arithmetic.";
    case UtilisationReading::kUsual:
      return "Usual for training at scale; communication, memory-bound steps and recompute take "
             "the rest. If the peak counts structured sparsity, the true figure is twice this.";
    case UtilisationReading::kLow:
      return "Low: look for exposed communication, small batches, unfused elementwise steps, or "
             "arithmetic off the matrix units. If the peak counts structured sparsity, the true "
             "figure is twice this.";
    case UtilisationReading::kWaiting:
      break;
  }
  return "The device is waiting. The usual causes: the data loader, communication that nothing "
         "hides, tiny batches or many small kernels, and a format that the matrix units don't "
         "take. If the peak counts structured sparsity, the true figure is twice this.";
}

}  // namespace

absl::StatusOr<Roofline> RooflineOf(const OperationCost& cost, const DeviceRates& rates,
                                    RooflineMethod method) {
  SEXTANT_RETURN_IF_ERROR(CheckCost(cost, rates));
  double smooth = 0;
  double classical = 0;
  for (const StepCost& step : cost.steps) {
    const Times t = TimesOf(step.sum, rates);
    smooth += SmoothMaximum(t);
    classical += std::max(t.compute, t.memory);
  }
  const Times all = TimesOf(cost.sum, rates);
  Roofline out;
  out.intensity = cost.sum.intensity();
  out.compute = Seconds(all.compute);
  out.memory = Seconds(all.memory);
  out.bound = all.compute > all.memory ? RooflineBound::kCompute : RooflineBound::kMemory;
  out.ridge = RidgeOf(cost.sum, all.compute, rates);
  out.launch = rates.launch * static_cast<double>(cost.steps.size());
  out.classical = Seconds(classical) + out.launch;
  out.time = method == RooflineMethod::kSmooth ? Seconds(smooth) + out.launch : out.classical;
  if (out.time > Seconds(0)) out.fraction_of_peak = all.compute / out.time.value();
  return out;
}

HostCopyTime TimeOf(const HostCopy& copy) {
  const auto bytes = static_cast<double>(copy.bytes);
  const Seconds link(bytes / copy.link.value());
  if (copy.pinned) return {link, link};
  if (copy.staged.has_value()) {
    const Seconds both(bytes / copy.staged->value());
    return {both, both};
  }
  const Seconds staging(bytes / copy.staging.value());
  return {staging + link, std::max(staging, link)};
}

absl::optional<int64_t> RowsAtRidge(const OperationRequest& request, const DeviceRates& rates) {
  OperationRequest trial = request;
  const Rows rows = RowsOf(trial.operation);
  if (rows.field == nullptr || !AnalyzeOperation(request, "").ok()) return absl::nullopt;
  int64_t high = LargestRows(trial, *rows.field);
  if (!IsComputeBound(trial, rates)) return absl::nullopt;
  int64_t low = 0;  // not compute-bound; `high` is
  while (high - low > 1) {
    *rows.field = low + (high - low) / 2;
    (IsComputeBound(trial, rates) ? high : low) = *rows.field;
  }
  return high;
}

absl::StatusOr<Advice> AdviceFor(const OperationRequest& request, const OperationAnalysis& analysis,
                                 const DeviceRates& rates) {
  if (const auto* copy = std::get_if<HostCopy>(&request.operation); copy != nullptr) {
    if (copy->pinned) {
      return Advice{AdviceKind::kOverlapCopy,
                    "bound by the link: copy while the device computes, or send fewer bytes"};
    }
    return Advice{AdviceKind::kPinHostMemory,
                  "copied twice: pin the host's memory, and copy while the device computes"};
  }
  SEXTANT_ASSIGN_OR_RETURN(const Roofline roofline, RooflineOf(analysis.forward, rates));
  if (roofline.launch > roofline.compute + roofline.memory) {
    const double ratio = roofline.launch.value() / roofline.time.value();
    return Advice{AdviceKind::kFewerLaunches,
                  absl::StrFormat("launch-bound: %.0f %% of its time is the launch; fuse with its "
                                  "neighbours, replay it in a graph, or give it more work",
                                  100 * ratio),
                  {{"launch_ratio", ratio}}};
  }
  if (roofline.bound == RooflineBound::kMemory) return MemoryAdvice(request, analysis, rates);
  const double intensity = roofline.intensity.value_or(0);
  return Advice{AdviceKind::kLessArithmetic,
                absl::StrFormat("compute-bound: %.4g FLOPs a byte, the ridge is %.4g; only less "
                                "arithmetic, a narrower number format with a higher rate, or more "
                                "devices make it faster",
                                intensity, roofline.ridge),
                {{"flops_per_byte", intensity}, {"ridge_flops_per_byte", roofline.ridge}}};
}

absl::StatusOr<Utilisation> UtilisationOf(const AchievedTime& a) {
  FieldViolations violations;
  violations.RequireRange("", "flops", a.flops.value(),
                          FieldViolations::RealRange{.low = 0, .high = kMaxFlops});
  violations.RequireRange("", "seconds", a.time.value(),
                          FieldViolations::RealRange{.low = kMinSeconds, .high = kMaxSeconds});
  violations.RequireRange("", "peak_flops_per_second", a.peak.value(),
                          FieldViolations::RealRange{.low = kMinRate, .high = kMaxRate});
  violations.Require("", "device_count", a.device_count, 1, kMaxDevices);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  const Seconds at_peak = a.flops / (a.peak * static_cast<double>(a.device_count));
  const double ratio = at_peak.value() / a.time.value();
  const UtilisationReading reading = ReadingOf(ratio);
  return Utilisation{.ratio = ratio, .reading = reading, .explanation = ExplanationOf(reading)};
}

std::string ExplanationOf(const Utilisation& utilisation, const Roofline& roofline,
                          Seconds achieved) {
  if (roofline.bound != RooflineBound::kMemory ||
      utilisation.reading == UtilisationReading::kImpossible) {
    return std::string(utilisation.explanation);
  }
  const double times = achieved.value() / roofline.classical.value();
  const std::string limit = absl::StrFormat(
      "Memory bounds the operation, so that its MFU says little: the roofline allows %.3g %%, and "
      "it took %.3g times the roofline's least time.",
      100 * utilisation.ratio * times, times);
  return times >= 1 ? limit
                    : absl::StrCat(limit,
                                   " Less than once: the data was in a cache, or the time was "
                                   "taken before the device had finished.");
}

}  // namespace sextant
