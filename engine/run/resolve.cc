#include "engine/run/resolve.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/published_formulas.h"
#include "engine/model/presets/presets.h"
#include "engine/run/layout_fields.h"
#include "engine/time/rate_requirement.h"

namespace sextant {
namespace {

// The first device that the catalogue knows; null: none.
const Accelerator* KnownProduct(const DeviceSelection& selection, const Accelerator* accelerator) {
  for (const DeviceModel* const model : selection.models()) {
    if (accelerator == nullptr) accelerator = model->calibration().accelerator;
  }
  return accelerator;
}

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

// Resolves what is not known of a run.
class Resolver {
 public:
  Resolver(const RunSpec& run, const KnownParts& known, FieldViolations found, CallWork& work)
      : run_(run), known_(known), work_(work), violations_(std::move(found)) {}

  absl::StatusOr<ResolvedRun> Resolve() {
    CheckRun(run_, violations_);
    const ModelPreset* const preset = FindPreset();
    const Accelerator* const accelerator =
        FindSelected(run_.cluster.device, "cluster.device", unknown_);
    const Accelerator* const product = KnownProduct(run_.cluster.device, accelerator);
    if (product != nullptr) out_.generation = GenerationOf(product->architecture);
    const PrecisionPolicy given = PrecisionOn(product);
    out_.precision = run_.layout.has_value() ? WithDefaults(given, run_.layout->framework.traits(),
                                                            run_.training.optimizer.kind)
                                             : WithDefaults(given);
    if ((run_.model.preset.empty() || preset != nullptr) && IsShapeSound(violations_)) {
      ResolveModel(preset);
    }
    if (known_.devices != nullptr) {
      static_cast<RunDevices&>(out_) = *known_.devices;
    } else {
      FindDevices({run_, accelerator, out_.precision.compute_data_type}, out_, violations_);
    }
    SEXTANT_RETURN_IF_ERROR(StatusOfAll(unknown_, violations_));
    SEXTANT_RETURN_IF_ERROR(CheckRates({.devices = run_.cluster.device,
                                        .requirement = run_.rate_requirement,
                                        .type = out_.precision.compute_data_type,
                                        .device_name = out_.device_name,
                                        .matmul_source = out_.matmul_source()}));
    return std::move(out_);
  }

 private:
  // Null where the run names none, or an unknown one.
  const ModelPreset* FindPreset() {
    if (run_.model.preset.empty()) return nullptr;
    const auto preset = FindModelPreset(run_.model.preset);
    if (!preset.ok()) unknown_.push_back({"model.preset", preset.status()});
    return preset.value_or(nullptr);
  }

  // The run's types; fp16 where it names none to compute in and `product` does not multiply bf16.
  PrecisionPolicy PrecisionOn(const Accelerator* product) {
    PrecisionPolicy out = run_.training.precision;
    if (product == nullptr || run_.cluster.peak_flops_per_second.has_value()) return out;
    const auto multiplies = [product](DataType type) {
      return Multiplies(product->architecture, type);
    };
    DataType& type = out.compute_data_type;
    if (type == DataType::kUnspecified && !multiplies(DataType::kBf16)) type = DataType::kFp16;
    if (multiplies(type)) return out;
    violations_.Add("training.precision.compute_data_type",
                    absl::StrCat(DataTypeName(type), " is not multiplied by the matrix units of ",
                                 product->product_name, " (", product->architecture, "): write ",
                                 multiplies(DataType::kBf16) ? "BF16 or " : "", "FP16"));
    return out;
  }

  void ResolveModel(const ModelPreset* preset) {
    if (!run_.model.parameter_count.has_value()) return ResolveShape(preset);
    out_.model_name = "parameters";
    const int64_t count = *run_.model.parameter_count;
    out_.parameters.all = {.total = count, .active = count, .trainable = count};
    if (!violations_.Mentions("training.sequence_length") &&
        !violations_.Mentions("options.flops_convention")) {
      ResolveFlops();
    }
  }

  // The model's shape. Where it is invalid, the result keeps only its name.
  void ResolveShape(const ModelPreset* preset) {
    const size_t faults = violations_.found_count();
    out_.shape = ShapeOf(run_.model, preset, violations_);
    if (known_.model != nullptr) out_.shape.checked = known_.model;
    const size_t with_shape = violations_.found_count();
    CheckLengths(run_.training, *out_.shape.architecture, violations_);
    const bool lengths_are_sound = violations_.found_count() == with_shape;
    if (with_shape != faults || violations_.Mentions("model.changes")) return;
    out_.model_name = out_.shape.name;
    if (run_.layout.has_value()) {
      out_.habits = ClassHabitsOf(run_.layout->framework, out_.model_name, out_.generation);
    }
    if (out_.shape.checked == nullptr) work_.CountModel();
    const absl::Status counted = CheckShape(out_.shape);
    violations_.AddAll(counted);
    if (!counted.ok()) return;
    out_.parameters = out_.shape.checked->count();
    TakeRecipe();
    if (lengths_are_sound) ResolveFlops();
    if (HasIndexer(*out_.shape.architecture) &&
        (run_.layout.has_value() || run_.options.search != SearchExtent::kNone)) {
      violations_.Add("model",
                      "has attention with an indexer, whose memory and time are not known yet: "
                      "count it, or plan it without a layout and without a search");
      return;
    }
    ResolveLayout();
  }

  // The types of the framework's own recipe for the model, where the run leaves them open: of one
  // in bf16 by Adam.
  void TakeRecipe() {
    if (!run_.layout.has_value()) return;
    const PrecisionPolicy& given = run_.training.precision;
    const OptimizerKind optimizer = run_.training.optimizer.kind;
    const bool adam = optimizer == OptimizerKind::kAdam || optimizer == OptimizerKind::kAdamw;
    const bool usual = out_.precision.compute_data_type == DataType::kBf16 &&
                       out_.precision.weight_data_type == DataType::kBf16 &&
                       out_.precision.master_weights.value_or(true);
    const bool open = given.gradient_data_type == DataType::kUnspecified ||
                      given.optimizer_data_type == DataType::kUnspecified;
    if (!adam || !usual || !open) return;
    const Recipe* const recipe = FindRecipe(run_.layout->framework.kind, *out_.shape.architecture);
    if (recipe == nullptr) return;
    out_.recipe = recipe;
    const auto take = [](DataType of_run, DataType of_recipe, DataType& out) {
      if (of_run == DataType::kUnspecified) out = of_recipe;
    };
    take(given.gradient_data_type, recipe->gradients, out_.precision.gradient_data_type);
    take(given.optimizer_data_type, recipe->moments, out_.precision.optimizer_data_type);
  }

  void ResolveFlops() {
    if (run_.training.token_count < 1) return;  // reported elsewhere
    if (known_.flops != nullptr) {
      out_.flops = *known_.flops;
      return;
    }
    auto flops =
        RunFlopsOf(run_, {.model = out_.shape.checked.get(), .parameters = out_.parameters});
    violations_.AddAll(flops.status());
    if (!flops.ok()) return;
    out_.flops = *std::move(flops);
    const double ratio = out_.flops.hardware.has_value() ? out_.flops.hardware->ratio() : 1;
    if (run_.options.assumed_mfu.value_or(0) * ratio > 1 &&
        !violations_.Mentions("options.assumed_mfu")) {
      violations_.Add("options.assumed_mfu",
                      absl::StrCat("must be at most ", 1 / ratio, ": with recomputation ",
                                   *run_.options.assumed_mfu, " would be an HFU above 1"));
    }
  }

  // The job of the run's layout.
  void ResolveLayout() {
    if (!run_.layout.has_value() || run_.options.search != SearchExtent::kNone) return;
    out_.padded = PaddedShape(*run_.layout, *out_.shape.architecture);
    const MemoryJob job = JobOf(out_.context_of(run_), ChoiceToCheck(), violations_);
    auto memory = MemoryModelOf(out_.shape, out_.padded, job);
    for (const FieldViolation& violation : FieldViolationsOf(memory.status())) {
      violations_.AddOnce(violation.field, violation.description);
    }
    if (memory.ok()) out_.memory = *std::move(memory);
  }

  // The choice to check. Fields that are already reported get values that the layout accepts, so
  // that the other errors are reported together with them.
  JobChoice ChoiceToCheck() const {
    JobChoice out = ChoiceOf(run_);
    if (violations_.Mentions("cluster.device_count")) out.device_count = 0;
    if (violations_.Mentions("training.sequence_length")) {
      out.sequence_length = 1;
      for (const LayoutField& size : {kContextParallelField, kTensorParallelField}) {
        out.sequence_length *=
            std::clamp<int64_t>(size.in(out.layout).value_or(1), 1, kMaxTensorParallelSize);
      }
    }
    return out;
  }

  const RunSpec& run_;
  const KnownParts& known_;
  CallWork& work_;
  std::vector<UnknownName> unknown_;
  FieldViolations violations_;
  ResolvedRun out_;
};

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

absl::StatusOr<MemoryModel> MemoryModelOf(const ShapedModel& shape,
                                          const std::shared_ptr<const ArchitectureSpec>& padded,
                                          MemoryJob job) {
  if (padded == nullptr) return MemoryModel::Of(shape.checked, std::move(job));
  // Nothing else of it can be wrong.
  if (padded->embedding.padded_vocabulary_size > kMaxVocabularySize) {
    return MemoryModel::Of(*padded, std::move(job));
  }
  SEXTANT_ASSIGN_OR_RETURN(auto model, CheckedModel::OfSound(*padded, "model"));
  return MemoryModel::Of(std::move(model), std::move(job));
}

absl::StatusOr<ResolvedRun> Resolve(const RunSpec& run, FieldViolations found) {
  CallWork uncounted;
  return Resolve(run, std::move(found), uncounted);
}

absl::StatusOr<ResolvedRun> Resolve(const RunSpec& run, FieldViolations found, CallWork& work,
                                    const KnownParts& known) {
  return Resolver(run, known, std::move(found), work).Resolve();
}

KnownParts ResolvedRun::Known(const RunParts& changed) const {
  KnownParts out;
  if (!changed.model) out.model = shape.checked;
  if (!changed.model && !changed.training) out.flops = &flops;
  // A layout may offload to the host, whose rates are among the devices'.
  if (!changed.layout && !changed.device_count) out.devices = this;
  return out;
}

absl::StatusOr<ResolvedRun> ResolvedRun::With(const RunSpec& run, const RunParts& changed,
                                              CallWork& work) const {
  return Resolve(run, {}, work, Known(changed));
}

absl::StatusOr<MemoryModel> ResolvedRun::MemoryWith(const RunSpec& run, const JobChoice& choice,
                                                    LayoutCache& layouts) const {
  FieldViolations violations;
  MemoryJob job = JobOf(context_of(run), choice, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return memory->With(std::move(job), layouts);
}

}  // namespace sextant
