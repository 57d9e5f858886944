#include "engine/run/memory_assumptions.h"

#include "absl/strings/str_cat.h"
#include "engine/memory/ledger/framework_copies.h"

namespace sextant {
namespace {

using Sentences = std::vector<std::string>;

void AboutEvenSharing(const RunSpec& run, Sentences& out) {
  if (run.cluster.device_count > 1) {
    out.push_back(
        "Memory is divided evenly over all devices, as ZeRO stage 3 and FSDP keep it between "
        "gathers; the layers gathered at a time and communication buffers are not counted: give "
        "layout to count them.");
  }
  out.push_back(run.training.activation_bytes.has_value()
                    ? "Activations are those of the request."
                    : "Activations are not counted: give layout to have them counted, or "
                      "training.activation_bytes.");
}

// Habits of frameworks that a run may not share.
void AboutFramework(const RunSpec& run, const JobSpec& job, Sentences& out) {
  const Framework kind = run.layout->framework.kind;
  const PrecisionPolicy& precision = job.state.precision;
  const bool fsdp = kind == Framework::kPytorchFsdp;
  const bool defaulted = run.training.precision.gradient_data_type == DataType::kUnspecified;
  if (!fsdp && defaulted && StorageBytes(precision.gradient_data_type) < 4) {
    out.push_back(absl::StrCat("Gradients are kept in ", DataTypeName(precision.gradient_data_type),
                               "; Megatron-LM and DeepSpeed add those of bf16 weights up in fp32, "
                               "unless told otherwise: give training.precision.gradient_data_type "
                               "= FP32 to count that."));
  }
  if (KeepsWholeGradients(job) && !run.layout->framework.deferred_reduction.has_value()) {
    out.push_back(
        "Gradients add up whole and are reduced behind the last micro-batch alone, as PyTorch's "
        "pipelines do: give layout.framework.deferred_reduction = false to have each reduced.");
  }
  const bool stays = job.state.sharding.zero_stage == ZeroStage::kParameters &&
                     !job.state.sharding.reshard_after_forward;
  if (stays && !run.layout->reshard_after_forward.has_value()) {
    out.push_back(
        "Gathered weights stay from one micro-batch to the next: give "
        "layout.sharding.reshard_after_forward = true to have them let go.");
  }
  if (CastsWeights(job)) {
    out.push_back(absl::StrCat(
        "Weights are cast to ", DataTypeName(job.batch.compute_data_type),
        " by torch.autocast, in one region around a step's micro-batches under a pipeline; it "
        "keeps the casts."));
  }
}

void AboutLayout(const RunSpec& run, const JobSpec& job, Sentences& out) {
  const RunLayout& layout = *run.layout;
  if (!layout.global_batch_size.has_value()) {
    out.push_back(absl::StrCat("A step has ", job.pipeline.micro_batch_count,
                               " micro-batches on each of ", job.state.sharding.data_parallel_size,
                               " data parallel ranks, enough for the schedule to hold the most it "
                               "ever does: give layout.global_batch_size to have fewer."));
  }
  if (!layout.sequence_parallel.has_value() && job.batch.sequence_parallel) {
    out.push_back(
        "Norms and residuals are cut among tensor parallel ranks "
        "(layout.sequence_parallel).");
  }
  const FrameworkSpec& framework = layout.framework;
  out.push_back(absl::StrCat("Buffers are as ", FrameworkName(framework.kind),
                             " has them; model state, activations, transients and buffers are "
                             "counted, one by one."));
  AboutFramework(run, job, out);
  const bool all_given = framework.fragmentation_ratio.has_value() &&
                         framework.context_bytes.has_value() &&
                         framework.communicator_bytes.has_value();
  if (all_given) return;
  out.push_back(
      "Fragmentation, the driver's context and collective libraries are estimated, within "
      "the intervals of docs/memory.md: give those of layout.framework to have them "
      "exact.");
}

void AboutReserve(const RunSpec& run, Sentences& out) {
  if (run.cluster.reserved_memory_bytes.has_value()) return;
  out.push_back(run.layout.has_value()
                    ? "No device memory is kept from the run: give cluster.reserved_memory_bytes "
                      "where other processes use some."
                    : "No device memory is reserved for contexts, libraries or fragmentation: give "
                      "cluster.reserved_memory_bytes to reserve some.");
}

}  // namespace

void AddMemoryAssumptions(const RunSpec& run, const ResolvedRun& resolved, Sentences& out) {
  if (resolved.memory.has_value()) {
    AboutLayout(run, resolved.memory->job(), out);
  } else {
    AboutEvenSharing(run, out);
  }
  if (!run.cluster.device_memory_bytes.has_value()) {
    out.push_back(absl::StrCat("A device has ", resolved.device_memory.value(), " bytes: ",
                               resolved.measured.has_value()
                                   ? "all that its host reports, used by others or not."
                                   : "the datasheet's gigabytes taken as 1e9 bytes each."));
  }
  AboutReserve(run, out);
  if (run.training.optimizer.kind == OptimizerKind::kAdam8bit) {
    out.push_back("All optimizer state is in 8 bits; libraries keep small tensors in 32.");
  }
}

}  // namespace sextant
