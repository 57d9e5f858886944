#include "engine/run/resolve.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/presets/presets.h"
#include "engine/run/check_lengths.h"
#include "engine/run/job.h"
#include "engine/run/rate_requirement.h"
#include "engine/run/resolve_rates.h"

namespace sextant {
namespace {

// A name of the run that nothing is known by.
struct UnknownName {
  std::string field;
  absl::Status status;
};

// What the names of a run stand for; null where one is not known, or not given.
struct Named {
  const ModelPreset* preset = nullptr;
  const Accelerator* accelerator = nullptr;
  std::vector<UnknownName> unknown;
};

Named FindNames(const RunSpec& run) {
  Named out;
  if (!run.model.preset.empty()) {
    const auto preset = FindModelPreset(run.model.preset);
    if (!preset.ok()) out.unknown.push_back({"model.preset", preset.status()});
    out.preset = preset.value_or(nullptr);
  }
  if (!run.cluster.accelerator.empty()) {
    const auto accelerator = FindAccelerator(run.cluster.accelerator);
    if (!accelerator.ok()) out.unknown.push_back({"cluster.accelerator", accelerator.status()});
    out.accelerator = accelerator.value_or(nullptr);
  }
  for (size_t i = 0; i < run.cluster.devices.size(); ++i) {
    const absl::Status& found = run.cluster.devices[i].found;
    if (found.ok()) continue;
    out.unknown.push_back({absl::StrCat("cluster.device_uuids[", i, "]"), found});
  }
  return out;
}

// An unknown name is kNotFound where it is the only fault of the run; beside other faults it
// is one more violation, so that all can be mended in one go.
absl::Status StatusOfAll(const Named& named, FieldViolations& violations) {
  if (violations.empty() && named.unknown.size() == 1) return named.unknown.front().status;
  for (const UnknownName& name : named.unknown) violations.Add(name.field, name.status.message());
  return violations.ToStatus();
}

void ResolveFlops(const RunSpec& run, const ArchitectureSpec* architecture, ResolvedRun& out,
                  FieldViolations& violations) {
  if (run.training.token_count < 1) return;  // is at fault already
  auto flops = RunFlopsOf(
      run, {.architecture = architecture, .tensors = out.tensors, .parameters = out.parameters});
  violations.AddAll(flops.status());
  if (!flops.ok()) return;
  out.flops = *std::move(flops);
  const double ratio = out.flops.hardware.has_value() ? out.flops.hardware->ratio() : 1;
  if (run.options.assumed_mfu.value_or(0) * ratio > 1 &&
      !violations.Mentions("options.assumed_mfu")) {
    violations.Add("options.assumed_mfu",
                   absl::StrCat("must be at most ", 1 / ratio, ": with recomputation ",
                                *run.options.assumed_mfu, " would be an HFU above 1"));
  }
}

// The choice that a run makes. What of it is at fault already is left to others, or stands aside
// for such as the layout asks for, so that all else that is wrong comes back with it.
JobChoice ChoiceToCheck(const RunSpec& run, const FieldViolations& violations) {
  JobChoice out = ChoiceOf(run);
  if (violations.Mentions("cluster.device_count")) out.device_count = 0;
  if (violations.Mentions("training.sequence_length")) {
    const int64_t context = out.layout.context_parallel_size.value_or(1);
    const int64_t tensor = out.layout.parallel.tensor_parallel_size;
    out.sequence_length = std::clamp<int64_t>(context, 1, kMaxTensorParallelSize) *
                          std::clamp<int64_t>(tensor, 1, kMaxTensorParallelSize);
  }
  return out;
}

// The job of the run's layout, of which `out.shape` is the model.
void ResolveLayout(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  if (!run.layout.has_value()) return;
  const JobSpec job = JobOf({*out.shape.architecture, out.precision, run.training.optimizer},
                            ChoiceToCheck(run, violations), violations);
  auto memory = MemoryModel::Of(*out.shape.architecture, job);
  for (const FieldViolation& violation : FieldViolationsOf(memory.status())) {
    const std::string field = RequestFieldOf(violation.field);
    if (!violations.Mentions(field)) violations.Add(field, violation.description);
  }
  if (memory.ok()) out.memory = *std::move(memory);
}

// The model's shape; its name stays behind where it is at fault.
void ResolveShape(const RunSpec& run, const ModelPreset* preset, ResolvedRun& out,
                  FieldViolations& violations) {
  const size_t faults = violations.all().size();
  out.shape = ShapeOf(run.model, preset, violations);
  const size_t with_shape = violations.all().size();
  CheckLengths(run.training, *out.shape.architecture, violations);
  const bool lengths_are_sound = violations.all().size() == with_shape;
  if (with_shape != faults || violations.Mentions("model.changes")) return;
  out.model_name = out.shape.name;
  out.tensors = WeightsOf(*out.shape.architecture);
  auto count = CountWeights(out.tensors, "model");
  violations.AddAll(count.status());
  if (!count.ok()) return;
  out.parameters = *std::move(count);
  if (lengths_are_sound) ResolveFlops(run, out.shape.architecture, out, violations);
  ResolveLayout(run, out, violations);
}

void ResolveModel(const RunSpec& run, const ModelPreset* preset, ResolvedRun& out,
                  FieldViolations& violations) {
  if (!run.model.parameter_count.has_value()) {
    ResolveShape(run, preset, out, violations);
    return;
  }
  out.model_name = "parameters";
  const int64_t count = *run.model.parameter_count;
  out.parameters.all = {.total = count, .active = count, .trainable = count};
  if (!violations.Mentions("training.sequence_length") &&
      !violations.Mentions("options.flops_convention")) {
    ResolveFlops(run, nullptr, out, violations);
  }
}

// Finds the devices and their figures. Leaves `out` without them where the request's
// calibrations are at fault, or nothing of the devices is known.
void ResolveDevices(const RunSpec& run, const Accelerator* accelerator, ResolvedRun& out,
                    FieldViolations& violations) {
  if (violations.Mentions("cluster.calibrations")) return;
  out.accelerator = accelerator;
  out.measured = MeasuredGangOf(run.cluster, out.precision.compute_data_type);
  if (out.measured.has_value()) {
    if (out.measured->smallest == nullptr) return;
    out.accelerator = out.measured->smallest->accelerator;
    out.device_name = out.measured->smallest->product_name;
  }
  if (out.accelerator != nullptr) out.device_name = out.accelerator->name;
  if (!out.device_name.empty()) ResolveRates(run, out, violations);
}

}  // namespace

RateSource ResolvedRun::matmul_source() const {
  if (measured.has_value()) return measured->source;
  return rates.front().source;  // the peak's, which every accelerator of a plan has
}

absl::StatusOr<ResolvedRun> Resolve(const RunSpec& run, FieldViolations violations) {
  CheckRun(run, violations);
  const Named named = FindNames(run);
  ResolvedRun out;
  out.precision = WithDefaults(run.training.precision);
  if ((run.model.preset.empty() || named.preset != nullptr) && IsShapeSound(violations)) {
    ResolveModel(run, named.preset, out, violations);
  }
  ResolveDevices(run, named.accelerator, out, violations);
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(named, violations));
  SEXTANT_RETURN_IF_ERROR(CheckRates(run, out));
  return out;
}

}  // namespace sextant
