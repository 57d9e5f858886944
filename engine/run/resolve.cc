#include "engine/run/resolve.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/model/presets.h"

namespace sextant {
namespace {

// What the names of a run stand for; null, and why, where one is not known.
struct Named {
  const ModelPreset* preset = nullptr;
  const Accelerator* accelerator = nullptr;
  absl::Status preset_status;
  absl::Status accelerator_status;
};

Named FindNames(const RunSpec& run) {
  Named out;
  if (!run.model.preset.empty()) {
    const auto preset = FindModelPreset(run.model.preset);
    out.preset_status = preset.status();
    out.preset = preset.value_or(nullptr);
  }
  if (!run.cluster.accelerator.empty()) {
    const auto accelerator = FindAccelerator(run.cluster.accelerator);
    out.accelerator_status = accelerator.status();
    out.accelerator = accelerator.value_or(nullptr);
  }
  return out;
}

// An unknown name is kNotFound where it is the only fault of the run; beside other faults it
// is one more violation, so that all can be mended in one go.
absl::Status StatusOfAll(const Named& named, FieldViolations& violations) {
  if (violations.empty() && (named.preset_status.ok() || named.accelerator_status.ok())) {
    SEXTANT_RETURN_IF_ERROR(named.preset_status);
    return named.accelerator_status;
  }
  if (!named.preset_status.ok()) violations.Add("model.preset", named.preset_status.message());
  if (!named.accelerator_status.ok()) {
    violations.Add("cluster.accelerator", named.accelerator_status.message());
  }
  return violations.ToStatus();
}

// The name and shape of a model that has a shape.
struct NamedShape {
  absl::string_view name;
  const TransformerSpec& transformer;
};

NamedShape ShapeOf(const ModelSpec& model, const ModelPreset* preset) {
  if (preset != nullptr) return {preset->name, preset->transformer};
  if (model.hugging_face_config.has_value()) {
    return {model.hugging_face_config->model_type, model.hugging_face_config->transformer};
  }
  return {"transformer", *model.transformer};
}

void ResolveModel(const ModelSpec& model, const ModelPreset* preset, ResolvedRun& out,
                  FieldViolations& violations) {
  if (model.parameter_count.has_value()) {
    out.model_name = "parameters";
    out.parameters.total = *model.parameter_count;
    return;
  }
  const NamedShape shape = ShapeOf(model, preset);
  out.model_name = shape.name;
  out.tensors = ParameterTensorsOf(shape.transformer);
  const auto count = CountParameters(out.tensors, "model.transformer");
  violations.AddAll(count.status());
  out.parameters = count.value_or(ParameterCount());
}

// The data types to compute in for which `a` has a peak, for an error to offer.
std::string TypesWithPeak(const Accelerator& a) {
  std::vector<absl::string_view> names;
  for (const DataType type : {DataType::kFp64, DataType::kFp32, DataType::kTf32, DataType::kFp16,
                              DataType::kBf16, DataType::kFp8, DataType::kFp6, DataType::kFp4}) {
    if (PeakFlopsPerSecond(a, type)) names.push_back(DataTypeName(type));
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

constexpr char kGivenInRequest[] = "given in the request";

// A figure: the request's where it gives one, else the datasheet's.
Rate RateOf(Rate rate, absl::optional<double> given, const Accelerator& a, const Figure& figure) {
  rate.device = a.name;
  rate.value = given.value_or(figure.value);
  rate.source = given.has_value() ? RateSource::kRequest : RateSource::kDatasheet;
  rate.citation = given.has_value() ? std::string(kGivenInRequest) : SourceOf(a, figure);
  return rate;
}

void ResolvePeak(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  const Accelerator& a = *out.accelerator;
  const DataType type = out.precision.compute_data_type;
  const Figure figure = PeakFlopsPerSecond(a, type);
  if (!run.cluster.peak_flops_per_second.has_value() && !figure) {
    violations.Add("cluster.peak_flops_per_second",
                   absl::StrCat("is required: the catalogue has no dense ", DataTypeName(type),
                                " peak of ", a.name, " (it has: ", TypesWithPeak(a),
                                "); give it, or another training.precision.compute_data_type"));
  }
  out.rates.push_back(RateOf({.quantity = "peak_flops_per_second",
                              .data_type = type,
                              .unit = "FLOP/s",
                              .citation = "",
                              .device = ""},
                             run.cluster.peak_flops_per_second, a, figure));
  out.peak = FlopsPerSecond(out.rates.back().value);
}

void ResolveMemory(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  // Out of their ranges these two would overflow below.
  if (violations.Mentions("cluster.device_memory_bytes") ||
      violations.Mentions("cluster.reserved_memory_bytes")) {
    return;
  }
  const Accelerator& a = *out.accelerator;
  absl::optional<double> given;
  if (run.cluster.device_memory_bytes.has_value()) {
    given = static_cast<double>(*run.cluster.device_memory_bytes);  // at most 1e13: exact
  }
  out.rates.push_back(
      RateOf({.quantity = "memory_bytes", .unit = "byte", .citation = "", .device = ""}, given, a,
             a.memory_bytes));
  out.device_memory = Bytes(static_cast<int64_t>(out.rates.back().value));
  const Bytes reserved(run.cluster.reserved_memory_bytes.value_or(0));
  if (reserved >= out.device_memory) {
    violations.Add("cluster.reserved_memory_bytes",
                   absl::StrCat("must be less than the device's memory, ",
                                out.device_memory.value(), " bytes"));
  }
  out.usable_per_device = out.device_memory - reserved;
}

void ResolvePower(const RunSpec& run, ResolvedRun& out) {
  const Accelerator& a = *out.accelerator;
  const absl::optional<double> given = run.economics.device_power_watts;
  if (!given.has_value() && !a.thermal_design_power_watts) return;
  out.rates.push_back(
      RateOf({.quantity = "device_power_watts", .unit = "W", .citation = "", .device = ""}, given,
             a, a.thermal_design_power_watts));
  out.device_power = Watts(out.rates.back().value);
}

}  // namespace

absl::StatusOr<ResolvedRun> Resolve(const RunSpec& run, FieldViolations violations) {
  CheckRun(run, violations);
  const Named named = FindNames(run);
  ResolvedRun out;
  out.precision = WithDefaults(run.training.precision);
  out.rates.reserve(3);
  if (named.preset_status.ok() && !violations.Mentions("model")) {
    ResolveModel(run.model, named.preset, out, violations);
  }
  if (named.accelerator != nullptr) {
    out.accelerator = named.accelerator;
    ResolvePeak(run, out, violations);
    ResolveMemory(run, out, violations);
    ResolvePower(run, out);
  }
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(named, violations));
  return out;
}

}  // namespace sextant
