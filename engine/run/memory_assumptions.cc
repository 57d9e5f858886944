#include "engine/run/memory_assumptions.h"

#include "absl/strings/str_cat.h"

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
