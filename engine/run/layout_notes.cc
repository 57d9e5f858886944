#include <string>

#include "absl/strings/str_cat.h"
#include "engine/memory/ledger/framework_copies.h"
#include "engine/run/plan_notes.h"

namespace sextant {
namespace {

// Defaults of the framework that the user's run may not share.
void AboutFramework(const RunSpec& run, const MemoryJob& job, Notes& out) {
  const FrameworkTraits& traits = run.layout->framework.traits();
  const PrecisionPolicy& precision = job.state.precision;
  const bool defaulted = run.training.precision.gradient_data_type == DataType::kUnspecified;
  if (defaulted && StorageBytes(precision.gradient_data_type) < 4) {
    out.push_back(
        {.kind = NoteKind::kNarrowGradients,
         .text = absl::StrCat("Gradients are kept in ", DataTypeName(precision.gradient_data_type),
                              ", as ", traits.title,
                              " does by default: give training.precision.gradient_data_type = FP32 "
                              "where they add up in fp32."),
         .fields = {"training.precision.gradient_data_type"}});
  }
  if (KeepsWholeGradients(job) && !run.layout->framework.deferred_reduction.has_value()) {
    out.push_back({.kind = NoteKind::kDeferredReduction,
                   .text = "Gradients add up unsharded and are reduced only after the last "
                           "micro-batch, as PyTorch's pipelines do: give "
                           "layout.framework.deferred_reduction = false to have each reduced.",
                   .fields = {"layout.framework.deferred_reduction"}});
  }
  const bool stays = job.state.sharding.zero_stage == ZeroStage::kParameters &&
                     !job.state.sharding.reshard_after_forward;
  if (stays && !run.layout->reshard_after_forward.has_value()) {
    out.push_back({.kind = NoteKind::kWeightsStayGathered,
                   .text = "Gathered weights stay from one micro-batch to the next: give "
                           "layout.sharding.reshard_after_forward = true to have them freed.",
                   .fields = {"layout.sharding.reshard_after_forward"}});
  }
  if (CastsWeights(job)) {
    out.push_back({.kind = NoteKind::kWeightsCast,
                   .text = absl::StrCat(
                       "Weights are cast to ", DataTypeName(job.batch.compute_data_type),
                       " by torch.autocast, in one region around a step's micro-batches under a "
                       "pipeline; it keeps the casts.")});
  }
}

void AboutEstimatedReserve(const FrameworkSpec& framework, Notes& out) {
  if (framework.fragmentation_ratio.has_value() && framework.context_bytes.has_value() &&
      framework.communicator_bytes.has_value()) {
    return;
  }
  out.push_back(
      {.kind = NoteKind::kReserveEstimated,
       .text = "Fragmentation, the driver's context and collective libraries are "
               "estimated, within the intervals of docs/memory.md: give "
               "layout.framework.fragmentation_ratio, layout.framework.context_bytes and "
               "layout.framework.communicator_bytes to have them exact.",
       .fields = {"layout.framework.fragmentation_ratio", "layout.framework.context_bytes",
                  "layout.framework.communicator_bytes"}});
}

void AboutPadding(const ArchitectureSpec& padded, const FrameworkTraits& traits, Notes& out) {
  const int64_t size = padded.embedding.padded_vocabulary_size;
  out.push_back({.kind = NoteKind::kVocabularyPadded,
                 .text = absl::StrCat("A GPU's memory has a vocabulary padded to ", size,
                                      " entries, as ", traits.title,
                                      " pads it: give model.changes.vocabulary_multiple to pad it "
                                      "otherwise."),
                 .values = {{"padded_vocabulary_size", static_cast<double>(size)}},
                 .fields = {"model.changes.vocabulary_multiple"}});
}

// Layouts that are legal, and that hardly anyone runs on purpose.
void AboutUnusualLayout(const ResolvedRun& resolved, const MemoryJob& job, Notes& out) {
  const int64_t ranks = job.layout.tensor_parallel_size;
  if (resolved.node != nullptr && ranks > resolved.node->device_count) {
    const int64_t devices = resolved.node->device_count;
    out.push_back({.kind = NoteKind::kTensorAcrossServers,
                   .text = absl::StrCat(
                       "Groups of ", ranks, " tensor parallel ranks span servers of ", devices,
                       " devices (", resolved.node->name, "), so that what they exchange in every ",
                       "layer crosses the network: give layout.parallel.tensor_parallel_size = ",
                       devices, " or less, and more pipeline or context parallel ranks."),
                   .values = {{"tensor_parallel_size", static_cast<double>(ranks)},
                              {"devices_per_node", static_cast<double>(devices)}},
                   .fields = {"layout.parallel.tensor_parallel_size"}});
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
                   .values = {{"micro_batch_count", static_cast<double>(count)},
                              {"pipeline_parallel_size", static_cast<double>(stages)}},
                   .fields = {"layout.global_batch_size", "layout.micro_batch_size",
                              "layout.parallel.pipeline_parallel_size"}});
  }
}

}  // namespace

void AppendLayoutNotes(const RunSpec& run, const ResolvedRun& resolved, const MemoryJob& job,
                       Notes& out) {
  if (!run.options.assumptions) return AboutUnusualLayout(resolved, job, out);
  const RunLayout& layout = *run.layout;
  if (!layout.global_batch_size.has_value()) {
    const int64_t count = job.pipeline.micro_batch_count;
    const int64_t ranks = job.state.sharding.data_parallel_size;
    out.push_back(
        {.kind = NoteKind::kBatchSizeChosen,
         .text = absl::StrCat("A step has ", count, " micro-batches on each of ", ranks,
                              " data parallel ranks, enough for the schedule to hold the most it "
                              "ever does: give layout.global_batch_size to have fewer."),
         .values = {{"micro_batch_count", static_cast<double>(count)},
                    {"data_parallel_size", static_cast<double>(ranks)}},
         .fields = {"layout.global_batch_size"}});
  }
  if (!layout.sequence_parallel.has_value() && job.batch.sequence_parallel) {
    out.push_back({.kind = NoteKind::kSequenceParallelChosen,
                   .text = "Norms and residuals are cut among tensor parallel ranks "
                           "(layout.sequence_parallel).",
                   .fields = {"layout.sequence_parallel"}});
  }
  out.push_back({.kind = NoteKind::kFrameworkBuffers,
                 .text = absl::StrCat(layout.framework.named ? "" : "No framework is named. ",
                                      "Types of state, sharding, loss and buffers that the request "
                                      "leaves open are those of ",
                                      layout.framework.traits().title,
                                      "; model state, activations, transients and buffers are "
                                      "counted, one by one."),
                 .fields = {"layout.framework.kind"}});
  if (resolved.padded != nullptr) AboutPadding(*resolved.padded, layout.framework.traits(), out);
  AboutFramework(run, job, out);
  AboutEstimatedReserve(layout.framework, out);
  AboutUnusualLayout(resolved, job, out);
}

}  // namespace sextant
