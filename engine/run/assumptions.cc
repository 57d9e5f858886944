#include "engine/run/assumptions.h"

#include "absl/strings/str_cat.h"
#include "engine/memory/ledger/framework_copies.h"

namespace sextant {
namespace {

using Sentences = std::vector<std::string>;

void AboutArithmetic(const RunSpec& run, const ResolvedRun& resolved, Sentences& out) {
  out.push_back(absl::StrCat("FLOPs are by the convention ",
                             FactsOf(resolved.flops.convention).name, ": ",
                             FactsOf(resolved.flops.convention).definition, "."));
  if (run.training.sequence_length.has_value()) {
    out.push_back(absl::StrCat("Every sequence has ", *run.training.sequence_length,
                               " tokens; elementwise work counts no FLOPs."));
    if (run.training.recompute != RecomputePolicy::kNone) {
      out.push_back(absl::StrCat("Recomputation (", RecomputePolicyName(run.training.recompute),
                                 ") makes ", resolved.flops.hardware->ratio(),
                                 " FLOPs of each that the model asks for: the bounds contain them, "
                                 "and an HFU counts them; "
                                 "the estimate's time follows from its MFU, which doesn't."));
    }
  } else {
    out.push_back(
        "Attention's products over the sequence, elementwise work and recomputation are not "
        "counted: give training.sequence_length to count the first and the last.");
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

// The meaning of the measured rate, and its limits: device count, stability, coverage.
void AboutMeasurement(const RunSpec& run, const ResolvedRun& resolved, Sentences& out) {
  const MeasuredGang& gang = *resolved.measured;
  const MeasuredMatmul& matmul = *gang.matmul;
  out.push_back(absl::StrCat("The measured bound takes the whole run to be as fast as a matrix ",
                             "multiplication of ", matmul.m, "x", matmul.n, "x", matmul.k,
                             matmul.sustained
                                 ? ", kept up for a second or more."
                                 : " in short bursts: a device that gets warm may be slower."));
  if (run.cluster.device_count > gang.named_count) {
    out.push_back(absl::StrCat("Of ", run.cluster.device_count, " devices ", gang.named_count,
                               gang.named_count == 1 ? " was" : " were",
                               " measured; the others are taken to be no slower."));
  }
  if (!matmul.stable) {
    out.push_back(absl::StrCat(
        "The measured rate is not stable: ",
        matmul.sample_count == 1
            ? "it is of a single sample"
            : absl::StrCat("its samples have a relative spread of ", matmul.relative_spread),
        FasterBurstText(gang), "; measure again while the device does nothing else."));
  }
  if (gang.slowest->coverage_ratio < 1) {
    out.push_back(absl::StrCat("The calibration of ", gang.slowest->uuid, " is partial, ",
                               gang.slowest->coverage_ratio,
                               " of the planned points: a shape left out may be faster."));
  }
  if (gang.slowest->processor) {
    out.push_back(absl::StrCat("The device is a processor, ", gang.slowest->product_name,
                               ", all of it taken to work on the run alone."));
  }
}

// Compares the peak with the measured rate; ends the sentence.
absl::string_view BesideMeasurement(const ResolvedRun& resolved) {
  if (!resolved.measured.has_value()) return "; nothing was measured.";
  if (resolved.measured->matmul->rate <= *resolved.peak) return ".";
  return "; the devices were measured above it, so one of the two figures is wrong.";
}

void AboutTime(const RunSpec& run, const ResolvedRun& resolved, Sentences& out) {
  if (!resolved.peak.has_value()) {
    out.push_back(absl::StrCat("No peak of ", resolved.device_name,
                               " is known, hence no lower bound, no textbook estimate and no MFU: "
                               "give cluster.peak_flops_per_second to have them."));
  }
  const absl::string_view type = DataTypeName(resolved.precision.compute_data_type);
  out.push_back(resolved.peak.has_value()
                    ? absl::StrCat(run.cluster.peak_flops_per_second.has_value()
                                       ? "The peak is the request's"
                                       : "The peak is the datasheet's, dense",
                                   BesideMeasurement(resolved), " All arithmetic runs in ", type,
                                   ".")
                    : absl::StrCat("All arithmetic runs in ", type, "."));
  if (resolved.measured.has_value()) AboutMeasurement(run, resolved, out);
  if (run.rate_requirement.maximum_age_seconds.has_value() && run.cluster.device.devices.empty()) {
    out.push_back(
        "rate_requirement.maximum_age limits nothing here: it is about measurements of the "
        "server's own devices, and the run names none of them.");
  }
  if (resolved.accelerator != nullptr && !resolved.accelerator->notes.empty()) {
    out.push_back(absl::StrCat("The catalogue notes on ", resolved.accelerator->name, ": ",
                               resolved.accelerator->notes, "."));
  }
  out.push_back("Failures, restarts, checkpoints, evaluation and data stalls take no time.");
}

void AboutEconomics(const RunSpec& run, const ResolvedRun& resolved, Sentences& out) {
  const EconomicsSpec& e = run.economics;
  if (!e.device_hour_price_usd.has_value()) {
    out.push_back("No cost: give economics.device_hour_price_usd.");
  }
  if (!resolved.device_power.has_value()) {
    out.push_back(
        "No energy: the catalogue has no power limit of this device; give "
        "economics.device_power_watts.");
    return;
  }
  if (!e.device_power_watts.has_value()) {
    out.push_back("A device draws its datasheet's power limit all the time.");
  }
  if (!e.host_power_watts_per_device.has_value()) {
    out.push_back("Hosts and network draw nothing: give economics.host_power_watts_per_device.");
  }
  if (!e.power_usage_effectiveness.has_value()) {
    out.push_back("The facility adds nothing: give economics.power_usage_effectiveness.");
  }
}

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

// Defaults of the framework that the user's run may not share.
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
        "Gradients add up unsharded and are reduced only after the last micro-batch, as PyTorch's "
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

std::string MfuBasis(const RunSpec& run, DataType compute) {
  if (run.options.assumed_mfu.has_value()) return "given in the request";
  std::string basis =
      "assumed: near the low end of published dense bf16 runs (median 0.53, tenth percentile 0.39)";
  if (compute != DataType::kBf16) {
    absl::StrAppend(&basis, "; runs in ", DataTypeName(compute), " were not looked at");
  }
  return basis;
}

std::vector<std::string> AssumptionsOf(const RunSpec& run, const ResolvedRun& resolved) {
  Sentences out;
  out.reserve(11);
  AboutArithmetic(run, resolved, out);
  AddMemoryAssumptions(run, resolved, out);
  AboutTime(run, resolved, out);
  AboutEconomics(run, resolved, out);
  return out;
}

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
