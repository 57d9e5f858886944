#include "engine/run/assumptions.h"

#include "absl/strings/str_cat.h"
#include "engine/run/memory_assumptions.h"

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

// ", and a short burst of 1024x1024x1024, stable, ran at 2e+12 FLOP/s", where it
// casts doubt on the measured rate.
std::string FasterBurstText(const MeasuredGang& gang) {
  const MeasuredMatmul* burst = gang.slowest->FasterBurstIn(gang.matmul->data_type);
  if (burst == nullptr) return "";
  return absl::StrCat(", and a short burst of ", burst->m, "x", burst->n, "x", burst->k,
                      ", stable, ran at ", burst->rate.value(), " FLOP/s");
}

// What the measured rate stands for, and how far it can be trusted.
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

// How the peak stands to what was measured; ends the sentence.
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
  if (run.rate_requirement.maximum_age_seconds.has_value() && run.cluster.devices.empty()) {
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

}  // namespace sextant
