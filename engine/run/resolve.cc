#include "engine/run/resolve.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/usual_nodes.h"
#include "engine/hardware/rates.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/published_formulas.h"
#include "engine/model/presets/presets.h"
#include "engine/run/host_rates.h"
#include "engine/run/job.h"
#include "engine/run/rate_requirement.h"
#include "engine/run/run_spec.h"

namespace sextant {
namespace {

constexpr char kDevicePath[] = "cluster.device";

// A writer that adds one figure to `out`.
RateWriter WriterOf(Rate rate, ResolvedRun& out) {
  rate.device = out.device_name;
  return RateWriter(std::move(rate), out.rates);
}

void ResolvePeak(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  const DataType type = out.precision.compute_data_type;
  RateWriter writer =
      WriterOf({.quantity = "peak_flops_per_second", .data_type = type, .unit = "FLOP/s"}, out);
  const DatasheetValue figure =
      out.accelerator != nullptr ? PeakFlopsPerSecond(*out.accelerator, type) : DatasheetValue();
  if (run.cluster.peak_flops_per_second.has_value()) {
    out.peak = FlopsPerSecond(writer.FromRequest(*run.cluster.peak_flops_per_second));
  } else if (figure) {
    out.peak = FlopsPerSecond(writer.FromDatasheet(*out.accelerator, figure));
  } else if (run.options.assumed_mfu.has_value()) {
    violations.Add("options.assumed_mfu",
                   absl::StrCat("is a share of a peak, and no ", DataTypeName(type), " peak of ",
                                out.device_name,
                                " is known: give cluster.peak_flops_per_second, or leave it out"));
  }
}

void ResolveMatmul(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  if (!out.measured.has_value() || out.measured->matmul == nullptr) return;
  const MeasuredGang& gang = *out.measured;
  const absl::optional<double>& peak = run.cluster.peak_flops_per_second;
  if (peak.has_value() && *peak < gang.matmul->rate.value()) {
    violations.Add(
        "cluster.peak_flops_per_second",
        absl::StrFormat("is %.4g, and the devices were measured at %.4g FLOP/s: give the "
                        "dense peak, which is at least that, or leave it out",
                        *peak, gang.matmul->rate.value()));
  }
  std::string citation = CitationOf(*gang.slowest, *gang.matmul);
  if (gang.measured_count > 1 && gang.source != RateSource::kMeasuredModel) {
    absl::StrAppend(&citation, "; the slowest of ", gang.measured_count, " devices");
  }
  Measurement measured = {.stable = gang.matmul->stable};
  if (gang.matmul->sample_count > 1) measured.relative_spread = gang.matmul->relative_spread;
  WriterOf({.quantity = "matmul_flops_per_second",
            .data_type = gang.matmul->data_type,
            .unit = "FLOP/s",
            .measured = measured},
           out)
      .FromMeasurement(*gang.slowest, {.value = gang.matmul->rate.value(),
                                       .source = gang.source,
                                       .citation = std::move(citation)});
}

Bytes WholeBytes(const DatasheetValue& figure) { return Bytes(static_cast<int64_t>(figure.value)); }

// The memory of one device by each source that has it; false where none does. A calibration has
// the total of CUDA (cuDeviceTotalMem), which is without the driver's reserve, or that of a
// processor's host; only the catalogue's figure includes the reserve. Doubles hold these bytes
// exactly: they are at most 1e15.
bool FindCapacity(const RunSpec& run, ResolvedRun& out) {
  RateWriter writer = WriterOf({.quantity = "memory_bytes", .unit = "byte"}, out);
  DeviceCapacity& found = out.capacity;
  const DeviceCalibration* const smallest =
      out.measured.has_value() ? out.measured->smallest : nullptr;
  constexpr static Accelerator kNotInCatalogue = {};
  const Accelerator& product = out.accelerator != nullptr ? *out.accelerator : kNotInCatalogue;
  if (product.reported_memory_bytes) found.reported = WholeBytes(product.reported_memory_bytes);
  if (smallest != nullptr) found.reported = smallest->memory;
  if (product.memory_bytes) found.nominal = WholeBytes(product.memory_bytes);
  double bytes = 0;
  if (run.cluster.device_memory_bytes.has_value()) {
    found.source = CapacitySource::kRequest;
    bytes = writer.FromRequest(static_cast<double>(*run.cluster.device_memory_bytes));
  } else if (smallest != nullptr) {
    found.source = CapacitySource::kReported;
    bytes =
        writer.FromMeasurement(*smallest, {.value = static_cast<double>(smallest->memory.value()),
                                           .source = out.measured->source,
                                           .citation = "as the device's host reports it"});
  } else if (out.measured.has_value()) {
    return false;
  } else if (product.reported_memory_bytes) {
    found.source = CapacitySource::kReported;
    bytes = writer.FromDatasheet(product, product.reported_memory_bytes);
    if (product.driver_reserved_bytes) {
      found.driver_reserved = WholeBytes(product.driver_reserved_bytes);
    }
  } else {
    bytes = writer.FromDatasheet(product, product.memory_bytes);
  }
  found.capacity = Bytes(static_cast<int64_t>(bytes));
  return true;
}

void ResolveCapacity(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  // Out of range, these two would overflow below.
  if (violations.Mentions("cluster.device_memory_bytes") ||
      violations.Mentions("cluster.reserved_memory_bytes")) {
    return;
  }
  if (!FindCapacity(run, out)) return;
  const Bytes memory = out.capacity.capacity;
  if (memory > Bytes(kMaxDeviceMemoryBytes)) {
    violations.Add("cluster.device_memory_bytes",
                   absl::StrCat("is required, at most ", kMaxDeviceMemoryBytes,
                                ": the device reports ", memory.value(), " bytes"));
  }
  const Bytes available = out.capacity.usable();
  out.capacity.Reserve(run.cluster.reserved_memory_bytes, run.cluster.device.TakenBytes());
  if (out.capacity.reserved >= available) {
    violations.Add(
        "cluster.reserved_memory_bytes",
        absl::StrCat("must be less than the device's memory, ", available.value(), " bytes"));
  }
}

void ResolvePower(const RunSpec& run, ResolvedRun& out) {
  RateWriter writer = WriterOf({.quantity = "device_power_watts", .unit = "W"}, out);
  if (run.economics.device_power_watts.has_value()) {
    out.device_power = Watts(writer.FromRequest(*run.economics.device_power_watts));
    return;
  }
  if (out.measured.has_value() && out.measured->matmul != nullptr &&
      out.measured->matmul->power_watts.has_value()) {
    const MeasuredGang& gang = *out.measured;
    out.measured_power = true;
    out.device_power = Watts(writer.FromMeasurement(
        *gang.slowest,
        {.value = *gang.matmul->power_watts,
         .source = gang.source,
         .citation = absl::StrCat("during the ", CitationOf(*gang.slowest, *gang.matmul))}));
    return;
  }
  if (out.accelerator != nullptr && out.accelerator->thermal_design_power_watts) {
    out.device_power =
        Watts(writer.FromDatasheet(*out.accelerator, out.accelerator->thermal_design_power_watts));
  }
}

// The models and accelerators that a run names; null where a name is unknown or not given.
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
  out.accelerator = FindSelected(run.cluster.device, kDevicePath, out.unknown);
  return out;
}

void ResolveFlops(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  if (run.training.token_count < 1) return;  // reported elsewhere
  auto flops = RunFlopsOf(run, {.model = out.shape.checked.get(), .parameters = out.parameters});
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

// The choice to check. Fields that are already reported get values that the layout accepts, so
// that the other errors are reported together with them.
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

// The job of the run's layout, with the model `out.shape`.
void ResolveLayout(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  if (!run.layout.has_value() || run.options.search != SearchExtent::kNone) return;
  out.padded = PaddedShape(*run.layout, *out.shape.architecture);
  const ArchitectureSpec& shape = out.counted_shape();
  const MemoryJob job = JobOf({shape, out.precision, run.training.optimizer, out.generation},
                              ChoiceToCheck(run, violations), violations);
  auto memory = MemoryModelOf(out.shape, out.padded, job);
  for (const FieldViolation& violation : FieldViolationsOf(memory.status())) {
    violations.AddOnce(RequestFieldOf(violation.field), violation.description);
  }
  if (memory.ok()) out.memory = *std::move(memory);
}

// The model's shape. Where it is invalid, `out` keeps only its name.
void ResolveShape(const RunSpec& run, const ModelPreset* preset, ResolvedRun& out,
                  FieldViolations& violations) {
  const size_t faults = violations.all().size();
  out.shape = ShapeOf(run.model, preset, violations);
  const size_t with_shape = violations.all().size();
  CheckLengths(run.training, *out.shape.architecture, violations);
  const bool lengths_are_sound = violations.all().size() == with_shape;
  if (with_shape != faults || violations.Mentions("model.changes")) return;
  out.model_name = out.shape.name;
  const absl::Status counted = CheckShape(out.shape);
  violations.AddAll(counted);
  if (!counted.ok()) return;
  out.parameters = out.shape.checked->count();
  if (lengths_are_sound) ResolveFlops(run, out, violations);
  if (HasIndexer(*out.shape.architecture) &&
      (run.layout.has_value() || run.options.search != SearchExtent::kNone)) {
    violations.Add("model",
                   "has attention with an indexer, whose memory and time are not known yet: count "
                   "it, or plan it without a layout and without a search");
    return;
  }
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
    ResolveFlops(run, out, violations);
  }
}

// Fills the figures of `out`, whose devices are known, and its `rates`. Where several sources have
// a figure, the request's comes first, then the measured one, then the datasheet's. Reports
// figures that no source has, and memory that leaves nothing to use.
void ResolveRates(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  out.rates.reserve(4);
  ResolvePeak(run, out, violations);
  ResolveMatmul(run, out, violations);
  ResolveCapacity(run, out, violations);
  ResolvePower(run, out);
}

// The gang of the devices that `cluster` names, computing in `type`. Devices without a
// measurement are skipped (CheckRates() reports them). Absent where an accelerator's name is given
// instead.
absl::optional<MeasuredGang> MeasuredGangOf(const ClusterSpec& cluster, DataType type) {
  const DeviceSelection& selection = cluster.device;
  const std::vector<const DeviceModel*> models = selection.models();
  if (selection.named_count() == 0 && models.empty()) return absl::nullopt;
  MeasuredGang out;
  out.source = selection.source();
  out.measured_count = selection.measured_count(cluster.device_count);
  for (const DeviceModel* const model : models) out.Join(*model, type);
  return out;
}

// Finds the devices and their figures. Leaves them empty in `out` where the request's calibrations
// are invalid or nothing is known of the devices.
void ResolveDevices(const RunSpec& run, const Accelerator* accelerator, ResolvedRun& out,
                    FieldViolations& violations) {
  if (violations.Mentions("cluster.device.calibrations")) return;
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

// The type of the run's nodes: the one that it names, or the usual one of its product.
const NodeType* NodeOf(const RunSpec& run, const Accelerator* accelerator,
                       FieldViolations& violations) {
  const absl::string_view name = run.cluster.node_type;
  if (name.empty()) {
    return accelerator == nullptr ? nullptr : UsualNodeOf(accelerator->name);
  }
  const absl::StatusOr<const NodeType*> found = FindNodeType(name);
  if (!found.ok()) {
    violations.Add("cluster.node_type", found.status().message());
    return nullptr;
  }
  if (accelerator != nullptr && !Holds(**found, accelerator->name)) {
    violations.Add("cluster.node_type", absl::StrCat("is ", (*found)->name, ", which comes with ",
                                                     absl::StrJoin((*found)->accelerators, ", "),
                                                     ", not with ", accelerator->name));
  }
  return *found;
}

// The network that the run names, or that of the type of nodes that it names. Without either, none
// is assumed.
void ResolveNodes(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  out.node = NodeOf(run, out.accelerator, violations);
  const NetworkRequest& request = run.cluster.network;
  const bool asked = !request.name.empty() || request.bytes_per_second != 0;
  constexpr static NodeType kAnyNode = {.name = "any", .product_name = "any server"};
  const NodeType& node = out.node != nullptr ? *out.node : kAnyNode;
  const bool several = out.node != nullptr && run.cluster.device_count > node.device_count;
  if (!asked && (run.cluster.node_type.empty() || !several)) return;
  absl::StatusOr<Network> network = ResolveNetwork(node, 2, request);
  if (network.ok()) {
    out.network = *std::move(network);
  } else {
    const std::vector<FieldViolation> found = FieldViolationsOf(network.status());
    violations.AddOnce("cluster.network",
                       found.empty() ? network.status().message() : found.front().description);
  }
}

// The generation of the first device that the catalogue knows.
DeviceGeneration GenerationOfDevices(const DeviceSelection& selection,
                                     const Accelerator* accelerator) {
  for (const DeviceModel* const model : selection.models()) {
    if (accelerator == nullptr) accelerator = model->calibration().accelerator;
  }
  return accelerator == nullptr ? DeviceGeneration::kUnknown
                                : GenerationOf(accelerator->architecture);
}

<<<<<<< HEAD
}  // namespace

RateSource ResolvedRun::matmul_source() const {
  if (measured.has_value()) return measured->source;
  return peak.has_value() ? rates.front().source : RateSource::kDatasheet;
=======
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

// Resolves parts of a run, and what depends on them.
class Resolver {
 public:
  Resolver(const RunSpec& run, const RunParts& parts, FieldViolations found)
      : run_(run), parts_(parts), violations_(std::move(found)) {}

  // Takes the other parts of the run from `known`.
  void Share(const ResolvedRun& known) {
    if (!parts_.model) out_.shape = known.shape;
    if (!parts_.model && !parts_.training) out_.flops = known.flops;
    if (!parts_.layout && !parts_.device_count) static_cast<RunDevices&>(out_) = known;
  }

  absl::StatusOr<ResolvedRun> Resolve() {
    CheckRun(run_, violations_);
    const ModelPreset* const preset = FindPreset();
    const Accelerator* const accelerator =
        FindSelected(run_.cluster.device, "cluster.device", unknown_);
    out_.precision = run_.layout.has_value()
                         ? WithDefaults(run_.training.precision, run_.layout->framework.traits())
                         : WithDefaults(run_.training.precision);
    out_.generation = GenerationOfDevices(run_.cluster.device, accelerator);
    if ((run_.model.preset.empty() || preset != nullptr) && IsShapeSound(violations_)) {
      ResolveModel(preset);
    }
    // A layout may offload to the host, whose rates are among the devices'.
    if (parts_.device_count || parts_.layout) {
      FindDevices({run_, accelerator, out_.precision.compute_data_type}, out_, violations_);
    }
    SEXTANT_RETURN_IF_ERROR(StatusOfAll(unknown_, violations_));
    SEXTANT_RETURN_IF_ERROR(CheckRates(run_, out_.precision.compute_data_type, out_));
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
    const size_t faults = violations_.all().size();
    if (parts_.model) out_.shape = ShapeOf(run_.model, preset, violations_);
    const size_t with_shape = violations_.all().size();
    CheckLengths(run_.training, *out_.shape.architecture, violations_);
    const bool lengths_are_sound = violations_.all().size() == with_shape;
    if (with_shape != faults || violations_.Mentions("model.changes")) return;
    out_.model_name = out_.shape.name;
    const absl::Status counted = CheckShape(out_.shape);
    violations_.AddAll(counted);
    if (!counted.ok()) return;
    out_.parameters = out_.shape.checked->count();
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

  void ResolveFlops() {
    if (run_.training.token_count < 1) return;  // reported elsewhere
    if (!parts_.model && !parts_.training) return;
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
      const std::string field = RequestFieldOf(violation.field);
      if (!violations_.Mentions(field)) violations_.Add(field, violation.description);
    }
    if (memory.ok()) out_.memory = *std::move(memory);
  }

  // The choice to check. Fields that are already reported get values that the layout accepts, so
  // that the other errors are reported together with them.
  JobChoice ChoiceToCheck() const {
    JobChoice out = ChoiceOf(run_);
    if (violations_.Mentions("cluster.device_count")) out.device_count = 0;
    if (violations_.Mentions("training.sequence_length")) {
      const int64_t context = out.layout.context_parallel_size.value_or(1);
      const int64_t tensor = out.layout.parallel.tensor_parallel_size;
      out.sequence_length = std::clamp<int64_t>(context, 1, kMaxTensorParallelSize) *
                            std::clamp<int64_t>(tensor, 1, kMaxTensorParallelSize);
    }
    return out;
  }

  const RunSpec& run_;
  const RunParts& parts_;
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
>>>>>>> 111da593 (engine/run: merge units that are one idea)
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

absl::StatusOr<ResolvedRun> Resolve(const RunSpec& run, FieldViolations violations) {
  CheckRun(run, violations);
  const Named named = FindNames(run);
  ResolvedRun out;
  out.precision = run.layout.has_value()
                      ? WithDefaults(run.training.precision, run.layout->framework.traits())
                      : WithDefaults(run.training.precision);
  out.generation = GenerationOfDevices(run.cluster.device, named.accelerator);
  if ((run.model.preset.empty() || named.preset != nullptr) && IsShapeSound(violations)) {
    ResolveModel(run, named.preset, out, violations);
  }
  ResolveDevices(run, named.accelerator, out, violations);
  ResolveNodes(run, out, violations);
  ResolveHost(run, out);
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(named.unknown, violations));
  SEXTANT_RETURN_IF_ERROR(CheckRates(run, out));
  return out;
}

}  // namespace sextant
