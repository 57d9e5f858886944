// The notes on what is counted: arithmetic, memory, layouts.
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/near_names.h"
#include "engine/hardware/catalogue.h"
#include "engine/memory/ledger/framework_copies.h"
#include "engine/run/planned_run.h"

namespace sextant {
namespace {

// Which of the catalogue's models and products the request's names were taken for.
void AboutNames(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const auto add = [&out](absl::string_view field, absl::string_view given, absl::string_view taken,
                          absl::string_view why) {
    AddNote(out, NoteKind::kNameTaken,
            absl::StrCat("\"", absl::CHexEscape(given), "\" is taken for ", taken, why, "."),
            field);
  };
  const absl::string_view model = run.model.preset;
  if (!model.empty() && !IsNameOf(model, resolved.model_name)) {
    add("model.preset", model, resolved.model_name, ", whose shape it has");
  }
  const auto& config = run.model.hugging_face_config;
  if (config.has_value() && !config->wrapper.empty()) {
    AddNote(
        out, NoteKind::kTextModelAlone,
        absl::StrCat(
            "The config.json is of a multimodal model: its text model (", config->wrapper,
            ") alone is counted, as where the rest is ", "not trained with it.",
            config->vision_parameters.has_value()
                ? absl::StrCat(" Its vision tower has ", *config->vision_parameters, " parameters.")
                : ""),
        "model.hugging_face_config");
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
  AddNote(out, NoteKind::kBaseTrained,
          "The model's own weights are trained together with the adapters, with gradients and "
          "optimizer state: set model.changes.base_frozen to train the adapters alone.",
          "model.changes.base_frozen");
}

void AboutArithmetic(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const auto& facts = FactsOf(resolved.flops.convention);
  AddNote(out, NoteKind::kFlopsConvention,
          absl::StrCat("FLOPs are by the convention ", facts.name, ": ", facts.definition, "."),
          "options.flops_convention");
  if (!run.training.sequence_length.has_value()) {
    AddNote(out, NoteKind::kAttentionNotCounted,
            "Attention's products over the sequence, elementwise work and recomputation are not "
            "counted: give training.sequence_length to count the first and the last.",
            "training.sequence_length");
    return;
  }
  const int64_t length = *run.training.sequence_length;
  AddNote(out, NoteKind::kSequenceLength,
          absl::StrCat("Every sequence has ", length, " tokens; elementwise work counts no FLOPs."))
      .values = {{"sequence_length", length}};
  const RecomputePolicy policy = run.training.recompute.value_or(RecomputePolicy::kNone);
  if (policy == RecomputePolicy::kNone) return;
  const double ratio = resolved.flops.hardware->ratio();
  AddNote(out, NoteKind::kRecomputation,
          absl::StrCat("Recomputation (", RecomputePolicyName(policy), ") makes ", ratio,
                       " FLOPs of each that the model asks for: the bounds contain them, and an "
                       "HFU counts them; the estimate's time follows from its MFU, which doesn't."))
      .values = {{"hardware_flops_ratio", ratio}};
}

void AboutEvenSharing(const RunSpec& run, Notes& out) {
  if (run.options.assumptions && run.cluster.device_count > 1) {
    AddNote(out, NoteKind::kSharedEvenly,
            "Memory is divided evenly over all devices, as ZeRO stage 3 and FSDP keep it between "
            "gathers; the layers gathered at a time and communication buffers are not counted: "
            "give a layout, e.g. layout.parallel.tensor_parallel_size, to count them.",
            "layout.parallel.tensor_parallel_size");
  }
  if (const auto given = run.training.activation_bytes; given.has_value()) {
    AddNote(out, NoteKind::kActivationsGiven, "Activations are those of the request.").values = {
        {"activation_bytes", *given}};
    return;
  }
  AddNote(
      out, NoteKind::kActivationsNotCounted,
      "Activations are not counted, so the run may need much more memory: give a layout, e.g. "
      "layout.parallel.tensor_parallel_size, to have them counted, or training.activation_bytes.")
      .fields = {"layout.parallel.tensor_parallel_size", "training.activation_bytes"};
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
               .values = {{"capacity_bytes", capacity.capacity.value()}},
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
    note.values.push_back({"driver_reserved_bytes", kept});
  }
  out.push_back(std::move(note));
}

// Defaults of the framework that the user's run may not share.
void AboutFramework(const RunSpec& run, const MemoryJob& job, const Recipe* recipe, Notes& out) {
  const FrameworkTraits& traits = run.layout->framework.traits();
  const PrecisionPolicy& precision = job.state.precision;
  const bool defaulted = run.training.precision.gradient_data_type == DataType::kUnspecified;
  if (defaulted && StorageBytes(precision.gradient_data_type) < 4) {
    AddNote(out, NoteKind::kNarrowGradients,
            absl::StrCat("Gradients are kept in ", DataTypeName(precision.gradient_data_type),
                         ", as ", traits.title,
                         recipe == nullptr ? " does by default"
                                           : absl::StrCat("'s recipe ", recipe->name, " does (",
                                                          recipe->source, ")"),
                         ": give training.precision.gradient_data_type = FP32 "
                         "where they add up in fp32."),
            "training.precision.gradient_data_type");
  }
  if (KeepsWholeGradients(job) && !run.layout->framework.deferred_reduction.has_value()) {
    AddNote(
        out, NoteKind::kDeferredReduction,
        "Gradients add up unsharded and are reduced only after the last micro-batch, as PyTorch's "
        "pipelines do: give layout.framework.deferred_reduction = false to have each reduced.",
        "layout.framework.deferred_reduction");
  }
  const bool stays = job.state.sharding.zero_stage == ZeroStage::kParameters &&
                     !job.state.sharding.reshard_after_forward;
  if (stays && !run.layout->reshard_after_forward.has_value()) {
    AddNote(out, NoteKind::kWeightsStayGathered,
            "Gathered weights stay from one micro-batch to the next: give "
            "layout.sharding.reshard_after_forward = true to have them freed.",
            "layout.sharding.reshard_after_forward");
  }
  if (CastsWeights(job)) {
    AddNote(out, NoteKind::kWeightsCast,
            absl::StrCat("Weights are cast to ", DataTypeName(job.batch.compute_data_type),
                         " by torch.autocast, in one region around a step's micro-batches under a "
                         "pipeline; it keeps the casts. The residual between them is in fp32."));
  }
}

void AboutEstimatedReserve(const FrameworkSpec& framework, Notes& out) {
  if (framework.fragmentation_ratio.has_value() && framework.context_bytes.has_value() &&
      framework.communicator_bytes.has_value()) {
    return;
  }
  AddNote(
      out, NoteKind::kReserveEstimated,
      "Fragmentation, the driver's context and collective libraries are estimated, within the "
      "intervals of docs/memory.md: give layout.framework.fragmentation_ratio, "
      "layout.framework.context_bytes and layout.framework.communicator_bytes to have them exact.")
      .fields = {"layout.framework.fragmentation_ratio", "layout.framework.context_bytes",
                 "layout.framework.communicator_bytes"};
}

void AboutPadding(const ArchitectureSpec& padded, const FrameworkTraits& traits, Notes& out) {
  const int64_t size = padded.embedding.padded_vocabulary_size;
  AddNote(out, NoteKind::kVocabularyPadded,
          absl::StrCat("A GPU's memory has a vocabulary padded to ", size, " entries, as ",
                       traits.title,
                       " pads it: give model.changes.vocabulary_multiple to pad it otherwise."),
          "model.changes.vocabulary_multiple")
      .values = {{"padded_vocabulary_size", size}};
}

// Layouts that are legal, and that hardly anyone runs on purpose.
void AboutUnusualLayout(const ResolvedRun& resolved, const MemoryJob& job, Notes& out) {
  const int64_t ranks = job.layout.tensor_parallel_size;
  if (resolved.node != nullptr && ranks > resolved.node->device_count) {
    const int64_t devices = resolved.node->device_count;
    AddNote(out, NoteKind::kTensorAcrossServers,
            absl::StrCat(
                "Groups of ", ranks, " tensor parallel ranks span servers of ", devices,
                " devices (", resolved.node->name, "), so that what they exchange in every ",
                "layer crosses the network: give layout.parallel.tensor_parallel_size = ", devices,
                " or less, and more pipeline or context parallel ranks."),
            "layout.parallel.tensor_parallel_size")
        .values = {{"tensor_parallel_size", ranks}, {"devices_per_node", devices}};
  }
  const int64_t stages = job.layout.pipeline_parallel_size;
  const int64_t count = job.pipeline.micro_batch_count;
  if (count < stages) {
    out.push_back({.kind = NoteKind::kFewMicroBatches,
                   .text = absl::StrCat(
                       "A step has ", count, count == 1 ? " micro-batch" : " micro-batches",
                       " for ", stages, " pipeline stages, which idle for much of it: give a ",
                       "larger layout.global_batch_size, or a smaller layout.micro_batch_size or ",
                       "layout.parallel.pipeline_parallel_size."),
                   .values = {{"micro_batch_count", count}, {"pipeline_parallel_size", stages}},
                   .fields = {"layout.global_batch_size", "layout.micro_batch_size",
                              "layout.parallel.pipeline_parallel_size"}});
  }
}

// The layout's open fields and unusual settings.
void AboutLayout(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const MemoryJob& job = resolved.memory->job();
  if (!run.options.assumptions) return AboutUnusualLayout(resolved, job, out);
  const RunLayout& layout = *run.layout;
  if (!layout.global_batch_size.has_value()) {
    const int64_t count = job.pipeline.micro_batch_count;
    const int64_t ranks = job.state.sharding.data_parallel_size;
    AddNote(out, NoteKind::kBatchSizeChosen,
            absl::StrCat("A step has ", count, " micro-batches on each of ", ranks,
                         " data parallel ranks, enough for the schedule to hold the most it ever "
                         "does: give layout.global_batch_size to have fewer."),
            "layout.global_batch_size")
        .values = {{"micro_batch_count", count}, {"data_parallel_size", ranks}};
  }
  if (!layout.sequence_parallel.has_value() && job.batch.sequence_parallel) {
    AddNote(out, NoteKind::kSequenceParallelChosen,
            "Norms and residuals are cut among tensor parallel ranks (layout.sequence_parallel).",
            "layout.sequence_parallel");
  }
  AddNote(
      out, NoteKind::kFrameworkBuffers,
      absl::StrCat(
          layout.framework.named ? "" : "No framework is named. ",
          "Types of state, sharding, loss and buffers that the request leaves open are those of ",
          layout.framework.traits().title,
          "; model state, activations, transients and buffers are counted, one by one."),
      "layout.framework.kind");
  if (resolved.padded != nullptr) AboutPadding(*resolved.padded, layout.framework.traits(), out);
  AboutFramework(run, job, resolved.recipe, out);
  AboutEstimatedReserve(layout.framework, out);
  AboutUnusualLayout(resolved, job, out);
}

void AboutMemory(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  if (resolved.memory.has_value()) {
    AboutLayout(run, resolved, out);
  } else {
    AboutEvenSharing(run, out);
  }
  if (!run.options.assumptions) return;
  AboutCapacity(resolved, out);
  if (resolved.capacity.taken) {
    const int64_t bytes = resolved.capacity.reserved.value();
    AddNote(
        out, NoteKind::kNothingReserved,
        absl::StrFormat("Processes hold %.2f GiB of a named device now, which is kept from the "
                        "run: give cluster.reserved_memory_bytes, 0 where they will have ended.",
                        static_cast<double>(bytes) / kGib),
        "cluster.reserved_memory_bytes")
        .values = {{"taken_bytes", bytes}};
  } else if (!run.cluster.reserved_memory_bytes.has_value()) {
    AddNote(out, NoteKind::kNothingReserved,
            run.layout.has_value()
                ? "No device memory is kept from the run: give cluster.reserved_memory_bytes where "
                  "other processes use some."
                : "No device memory is reserved for contexts, libraries or fragmentation: give "
                  "cluster.reserved_memory_bytes to reserve some.",
            "cluster.reserved_memory_bytes");
  }
  if (run.training.optimizer.kind == OptimizerKind::kAdam8bit) {
    AddNote(out, NoteKind::kOptimizerIn8Bits,
            "All optimizer state is in 8 bits; libraries keep small tensors in 32.");
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
  AppendTimeNotes(run, resolved, out);
  return out;
}

}  // namespace sextant
