#include "engine/run/plan_notes.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/near_names.h"
#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

// Which of the catalogue's models and products the request's names were taken for.
void AboutNames(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const auto add = [&out](absl::string_view field, absl::string_view given, absl::string_view taken,
                          absl::string_view why) {
    out.push_back(
        {.kind = NoteKind::kNameTaken,
         .text = absl::StrCat("\"", absl::CHexEscape(given), "\" is taken for ", taken, why, "."),
         .fields = {std::string(field)}});
  };
  const absl::string_view model = run.model.preset;
  if (!model.empty() && !IsNameOf(model, resolved.model_name)) {
    add("model.preset", model, resolved.model_name, ", whose shape it has");
  }
  const auto& config = run.model.hugging_face_config;
  if (config.has_value() && !config->wrapper.empty()) {
    out.push_back(
        {.kind = NoteKind::kTextModelAlone,
         .text = absl::StrCat("The config.json is of a multimodal model: its text model (",
                              config->wrapper, ") alone is counted, as where the rest is ",
                              "not trained with it.",
                              config->vision_parameters.has_value()
                                  ? absl::StrCat(" Its vision tower has ",
                                                 *config->vision_parameters, " parameters.")
                                  : ""),
         .fields = {"model.hugging_face_config"}});
  }
  const absl::string_view device = run.cluster.device.given_name;
  if (!device.empty() && resolved.accelerator != nullptr &&
      AcceleratorReportedAs(device) == nullptr) {
    add("cluster.device.accelerator", device, resolved.accelerator->name,
        absl::StrCat(" (", resolved.accelerator->product_name, "): write the name of another ",
                     "where it is another product"));
  }
}

// Adapters are mostly wanted for a base that stays as it is.
void AboutAdapters(const ModelChanges& changes, Notes& out) {
  if (!changes.adapters.has_value() || changes.base_frozen) return;
  out.push_back(
      {.kind = NoteKind::kBaseTrained,
       .text = "The model's own weights are trained together with the adapters, with gradients "
               "and optimizer state: set model.changes.base_frozen to train the adapters "
               "alone.",
       .fields = {"model.changes.base_frozen"}});
}

void AboutArithmetic(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const auto& facts = FactsOf(resolved.flops.convention);
  out.push_back({.kind = NoteKind::kFlopsConvention,
                 .text = absl::StrCat("FLOPs are by the convention ", facts.name, ": ",
                                      facts.definition, "."),
                 .fields = {"options.flops_convention"}});
  if (!run.training.sequence_length.has_value()) {
    out.push_back({.kind = NoteKind::kAttentionNotCounted,
                   .text = "Attention's products over the sequence, elementwise work and "
                           "recomputation are not counted: give training.sequence_length to count "
                           "the first and the last.",
                   .fields = {"training.sequence_length"}});
    return;
  }
  const int64_t length = *run.training.sequence_length;
  out.push_back({.kind = NoteKind::kSequenceLength,
                 .text = absl::StrCat("Every sequence has ", length,
                                      " tokens; elementwise work counts no FLOPs."),
                 .values = {{"sequence_length", static_cast<double>(length)}}});
  if (run.training.recompute == RecomputePolicy::kNone) return;
  const double ratio = resolved.flops.hardware->ratio();
  out.push_back(
      {.kind = NoteKind::kRecomputation,
       .text = absl::StrCat("Recomputation (", RecomputePolicyName(run.training.recompute),
                            ") makes ", ratio,
                            " FLOPs of each that the model asks for: the bounds contain "
                            "them, and an HFU counts them; the estimate's time follows "
                            "from its MFU, which doesn't."),
       .values = {{"hardware_flops_ratio", ratio}}});
}

void AboutEvenSharing(const RunSpec& run, Notes& out) {
  if (run.options.assumptions && run.cluster.device_count > 1) {
    out.push_back({.kind = NoteKind::kSharedEvenly,
                   .text = "Memory is divided evenly over all devices, as ZeRO stage 3 and FSDP "
                           "keep it between gathers; the layers gathered at a time and "
                           "communication buffers are not counted: give a layout, e.g. "
                           "layout.parallel.tensor_parallel_size, to count them.",
                   .fields = {"layout.parallel.tensor_parallel_size"}});
  }
  if (const auto given = run.training.activation_bytes; given.has_value()) {
    out.push_back({.kind = NoteKind::kActivationsGiven,
                   .text = "Activations are those of the request.",
                   .values = {{"activation_bytes", static_cast<double>(*given)}}});
    return;
  }
  out.push_back({.kind = NoteKind::kActivationsNotCounted,
                 .text =
                     "Activations are not counted, so the run may need much more memory: give a "
                     "layout, e.g. layout.parallel.tensor_parallel_size, to have them "
                     "counted, or training.activation_bytes.",
                 .fields = {"layout.parallel.tensor_parallel_size", "training.activation_bytes"}});
}

constexpr double kGib = 1 << 30;

// How much memory a device is taken to have, and by whom; nothing where the request says it.
void AboutCapacity(const ResolvedRun& resolved, Notes& out) {
  const DeviceCapacity& capacity = resolved.capacity;
  if (capacity.source == CapacitySource::kRequest) return;
  Note note = {.kind = NoteKind::kDeviceCapacity,
               .text = absl::StrFormat("A device has %.2f GiB (%d bytes): ",
                                       static_cast<double>(capacity.capacity.value()) / kGib,
                                       capacity.capacity.value()),
               .values = {{"capacity_bytes", static_cast<double>(capacity.capacity.value())}},
               .fields = {"cluster.device_memory_bytes"}};
  if (capacity.source == CapacitySource::kNominal) {
    note.kind = NoteKind::kCapacityNominal;
    absl::StrAppend(&note.text, "the datasheet's gigabytes taken as 1e9 bytes each, since no ",
                    "figure of its driver is known; drivers often report more, of which they keep ",
                    "a part. Measure a device, or give cluster.device_memory_bytes.");
  } else if (resolved.measured.has_value()) {
    absl::StrAppend(&note.text, "all that its host reports, used by others or not.");
  } else {
    const int64_t kept = capacity.driver_reserved.value();
    absl::StrAppend(
        &note.text, "what drivers report of this product",
        kept > 0 ? absl::StrCat(", less ", kept, " bytes that they give to no process") : "",
        "; a driver of another release may differ a little.");
    note.values.push_back({"driver_reserved_bytes", static_cast<double>(kept)});
  }
  out.push_back(std::move(note));
}

void AboutMemory(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  if (resolved.memory.has_value()) {
    AppendLayoutNotes(run, resolved, resolved.memory->job(), out);
  } else {
    AboutEvenSharing(run, out);
  }
  if (!run.options.assumptions) return;
  AboutCapacity(resolved, out);
  if (resolved.capacity.taken) {
    const int64_t bytes = resolved.capacity.reserved.value();
    out.push_back({.kind = NoteKind::kNothingReserved,
                   .text = absl::StrFormat(
                       "Processes hold %.2f GiB of a named device now, which is kept from the run: "
                       "give cluster.reserved_memory_bytes, 0 where they will have ended.",
                       static_cast<double>(bytes) / kGib),
                   .values = {{"taken_bytes", static_cast<double>(bytes)}},
                   .fields = {"cluster.reserved_memory_bytes"}});
  } else if (!run.cluster.reserved_memory_bytes.has_value()) {
    out.push_back({.kind = NoteKind::kNothingReserved,
                   .text = run.layout.has_value()
                               ? "No device memory is kept from the run: give "
                                 "cluster.reserved_memory_bytes where other processes use some."
                               : "No device memory is reserved for contexts, libraries or "
                                 "fragmentation: give cluster.reserved_memory_bytes to reserve "
                                 "some.",
                   .fields = {"cluster.reserved_memory_bytes"}});
  }
  if (run.training.optimizer.kind == OptimizerKind::kAdam8bit) {
    out.push_back(
        {.kind = NoteKind::kOptimizerIn8Bits,
         .text = "All optimizer state is in 8 bits; libraries keep small tensors in 32."});
  }
}

// Returns ", and a short burst of 1024x1024x1024, stable, ran at 2e+12 FLOP/s" where that casts
// doubt on the measured rate, else "".
std::string FasterBurstText(const MeasuredGang& gang) {
  const MeasuredMatmul* burst = gang.slowest->FasterBurstIn(gang.matmul->data_type);
  if (burst == nullptr) return "";
  return absl::StrCat(", and a short burst of ", burst->m, "x", burst->n, "x", burst->k,
                      ", stable, ran at ", burst->rate.value(), " FLOP/s");
}

// Warns of a rate whose own samples disagree, or that was measured while the device was disturbed.
void AboutDisturbance(const MeasuredGang& gang, Notes& out) {
  const MeasuredMatmul& matmul = *gang.matmul;
  const DeviceCalibration& calibration = *gang.slowest;
  Note note = {.kind = NoteKind::kRateUnstable, .text = ""};
  std::vector<std::string> reasons;
  if (!matmul.stable) {
    note.values.push_back({"sample_count", static_cast<double>(matmul.sample_count)});
    if (matmul.sample_count == 0) {
      reasons.push_back("its samples disagree");
    } else if (matmul.sample_count == 1) {
      reasons.push_back("it is of a single sample");
    } else {
      reasons.push_back(
          absl::StrCat("its samples have a relative spread of ", matmul.relative_spread));
      note.values.push_back({"relative_spread", matmul.relative_spread});
    }
    reasons.back() += FasterBurstText(gang);
  }
  if (calibration.HasFewStablePoints()) {
    reasons.push_back(absl::StrCat(calibration.stable_point_count, " of ", calibration.point_count,
                                   " points of the calibration are stable"));
    note.values.push_back(
        {"stable_point_count", static_cast<double>(calibration.stable_point_count)});
    note.values.push_back({"point_count", static_cast<double>(calibration.point_count)});
  }
  if (calibration.HasDrifted()) {
    const double drift = *calibration.drift_ratio;
    reasons.push_back(absl::StrFormat("the device became %.1f %% %s while it was measured",
                                      100 * std::abs(drift), drift > 0 ? "slower" : "faster"));
    note.values.push_back({"drift_ratio", drift});
  }
  if (reasons.empty()) return;
  note.text = absl::StrCat(
      matmul.stable ? "The measurement was disturbed: " : "The measured rate is not stable: ",
      absl::StrJoin(reasons, ", "), "; measure again while the device does nothing else.");
  out.push_back(std::move(note));
}

// Warns of a measurement that may not show what the devices can do.
void AboutStability(const MeasuredGang& gang, Notes& out) {
  AboutDisturbance(gang, out);
  if (gang.slowest->coverage_ratio < 1) {
    out.push_back({.kind = NoteKind::kCalibrationPartial,
                   .text = absl::StrCat("The calibration of ", gang.slowest->uuid, " is partial, ",
                                        gang.slowest->coverage_ratio,
                                        " of the planned points: a shape left out may be faster."),
                   .values = {{"coverage_ratio", gang.slowest->coverage_ratio}}});
  }
}

// The meaning of the measured rate, and its limits: device count, stability, coverage.
void AboutMeasurement(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const MeasuredGang& gang = *resolved.measured;
  const MeasuredMatmul& matmul = *gang.matmul;
  Note bound = {.kind = NoteKind::kMeasuredBound,
                .text = "The measured bound takes the whole run to be as fast as a "};
  if (matmul.m == 0) {
    absl::StrAppend(&bound.text, "large matrix multiplication");
  } else {
    absl::StrAppend(&bound.text, "matrix multiplication of ", matmul.m, "x", matmul.n, "x",
                    matmul.k);
    bound.values = {{"m", static_cast<double>(matmul.m)},
                    {"n", static_cast<double>(matmul.n)},
                    {"k", static_cast<double>(matmul.k)}};
  }
  absl::StrAppend(&bound.text, matmul.sustained
                                   ? ", kept up for a second or more."
                                   : " in short bursts: a device that gets warm may be slower.");
  out.push_back(std::move(bound));
  const int64_t devices = run.cluster.device_count;
  if (devices > gang.measured_count) {
    out.push_back(
        {.kind = NoteKind::kDevicesNotMeasured,
         .text = absl::StrCat("Of ", devices, " devices ", gang.measured_count,
                              gang.measured_count == 1 ? " was" : " were",
                              " measured; the others are taken to be no slower."),
         .values = {{"device_count", static_cast<double>(devices)},
                    {"measured_device_count", static_cast<double>(gang.measured_count)}}});
  }
  AboutStability(gang, out);
  if (gang.slowest->processor) {
    out.push_back({.kind = NoteKind::kDeviceIsProcessor,
                   .text = absl::StrCat("The device is a processor, ", gang.slowest->product_name,
                                        ", all of it taken to work on the run alone.")});
  }
}

// The types with a datasheet peak, as text; empty for a measured device.
std::string OtherTypesText(const ResolvedRun& resolved) {
  if (resolved.measured.has_value() || resolved.accelerator == nullptr) return "";
  std::vector<absl::string_view> names;
  for (const DataType type : {DataType::kFp64, DataType::kFp32, DataType::kTf32, DataType::kFp16,
                              DataType::kBf16, DataType::kFp8, DataType::kFp6, DataType::kFp4}) {
    if (PeakFlopsPerSecond(*resolved.accelerator, type)) names.push_back(DataTypeName(type));
  }
  return names.empty() ? ""
                       : absl::StrCat(", or a training.precision.compute_data_type that has one (",
                                      absl::StrJoin(names, ", "), ")");
}

void AboutPeak(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const auto arithmetic = [&] {
    return absl::StrCat("All arithmetic runs in ",
                        DataTypeName(resolved.precision.compute_data_type));
  };
  if (!resolved.peak.has_value()) {
    out.push_back(
        {.kind = NoteKind::kPeakUnknown,
         .text = absl::StrCat("No peak of ", resolved.device_name,
                              " is known, hence no lower bound, no textbook estimate and "
                              "no MFU: give cluster.peak_flops_per_second",
                              OtherTypesText(resolved), " to have them. ", arithmetic(), "."),
         .fields = {"cluster.peak_flops_per_second"}});
    return;
  }
  if (run.options.assumptions) {
    out.push_back({.kind = NoteKind::kPeak,
                   .text = absl::StrCat(run.cluster.peak_flops_per_second.has_value()
                                            ? "The peak is the request's"
                                            : "The peak is the datasheet's, dense",
                                        resolved.measured.has_value() ? ". "
                                                                      : "; nothing was "
                                                                        "measured. ",
                                        arithmetic(), ".")});
  }
  if (!resolved.measured.has_value()) return;
  const FlopsPerSecond measured = resolved.measured->matmul->rate;
  if (measured <= *resolved.peak) return;
  out.push_back({.kind = NoteKind::kMeasuredAbovePeak,
                 .text = "The devices were measured above their peak, so one of the two figures is "
                         "wrong.",
                 .values = {{"measured_flops_per_second", measured.value()},
                            {"peak_flops_per_second", resolved.peak->value()}}});
}

void AboutAssumedMfu(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  if (!resolved.peak.has_value() || run.options.assumed_mfu.has_value()) return;
  const DataType compute = resolved.precision.compute_data_type;
  out.push_back(
      {.kind = NoteKind::kMfuAssumed,
       .text = absl::StrCat(
           "The textbook estimate assumes an MFU of ", kAssumedMfu, ": ", kAssumedMfuSource,
           compute == DataType::kBf16
               ? ""
               : absl::StrCat("; runs in ", DataTypeName(compute), " were not looked at"),
           ". Give options.assumed_mfu for another."),
       .values = {{"mfu", kAssumedMfu}},
       .fields = {"options.assumed_mfu"}});
}

void AboutTime(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  AboutPeak(run, resolved, out);
  if (run.options.assumptions) AboutAssumedMfu(run, resolved, out);
  if (resolved.measured.has_value()) AboutMeasurement(run, resolved, out);
  AppendFleetNotes(run.cluster.device, "cluster.device.fleet", run.options.assumptions, out);
  if (!run.options.assumptions) return;
  if (run.rate_requirement.maximum_age_seconds.has_value() && run.cluster.device.devices.empty() &&
      !run.cluster.device.fleet.has_value()) {
    out.push_back({.kind = NoteKind::kAgeLimitsNothing,
                   .text = "rate_requirement.maximum_age limits nothing here: it is about "
                           "measurements of the server's own devices, and the run names none of "
                           "them.",
                   .fields = {"rate_requirement.maximum_age"}});
  }
  if (resolved.accelerator != nullptr && !resolved.accelerator->notes.empty()) {
    out.push_back({.kind = NoteKind::kCatalogue,
                   .text = absl::StrCat("The catalogue notes on ", resolved.accelerator->name, ": ",
                                        resolved.accelerator->notes, ".")});
  }
}

}  // namespace

Notes NotesOf(const RunSpec& run, const ResolvedRun& resolved) {
  Notes out;
  out.reserve(12);
  AboutNames(run, resolved, out);
  AboutAdapters(run.model.changes, out);
  if (run.options.assumptions) AboutArithmetic(run, resolved, out);
  AboutMemory(run, resolved, out);
  AboutTime(run, resolved, out);
  return out;
}

}  // namespace sextant
