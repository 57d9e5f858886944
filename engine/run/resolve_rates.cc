#include "engine/run/resolve_rates.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/hardware/rate_writer.h"
#include "engine/run/check_cluster.h"

namespace sextant {
namespace {

// The data types to compute in for which `a` has a peak, for an error to offer.
std::string TypesWithPeak(const Accelerator& a) {
  std::vector<absl::string_view> names;
  for (const DataType type : {DataType::kFp64, DataType::kFp32, DataType::kTf32, DataType::kFp16,
                              DataType::kBf16, DataType::kFp8, DataType::kFp6, DataType::kFp4}) {
    if (PeakFlopsPerSecond(a, type)) names.push_back(DataTypeName(type));
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

// One of the figures of `out`.
RateWriter WriterOf(Rate rate, ResolvedRun& out) {
  rate.device = out.device_name;
  return RateWriter(std::move(rate), out.rates);
}

void ResolvePeak(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  const DataType type = out.precision.compute_data_type;
  RateWriter writer =
      WriterOf({.quantity = "peak_flops_per_second", .data_type = type, .unit = "FLOP/s"}, out);
  const Figure figure =
      out.accelerator != nullptr ? PeakFlopsPerSecond(*out.accelerator, type) : Figure();
  if (run.cluster.peak_flops_per_second.has_value()) {
    out.peak = FlopsPerSecond(writer.FromRequest(*run.cluster.peak_flops_per_second));
  } else if (figure) {
    out.peak = FlopsPerSecond(writer.FromDatasheet(*out.accelerator, figure));
  } else if (!out.measured.has_value()) {
    violations.Add(
        "cluster.peak_flops_per_second",
        absl::StrCat("is required: the catalogue has no dense ", DataTypeName(type), " peak of ",
                     out.device_name, " (it has: ", TypesWithPeak(*out.accelerator),
                     "); give it, or another training.precision.compute_data_type"));
  } else if (run.options.assumed_mfu.has_value()) {
    violations.Add("options.assumed_mfu",
                   absl::StrCat("is a share of a peak, and no ", DataTypeName(type), " peak of ",
                                out.device_name,
                                " is known: give cluster.peak_flops_per_second, or leave it out"));
  }
}

void ResolveMatmul(ResolvedRun& out) {
  if (!out.measured.has_value() || out.measured->matmul == nullptr) return;
  const MeasuredGang& gang = *out.measured;
  std::string citation = CitationOf(*gang.slowest, *gang.matmul);
  if (gang.named_count > 1) {
    absl::StrAppend(&citation, "; the slowest of ", gang.named_count, " devices");
  }
  Measurement measured = {.stable = gang.matmul->stable};
  if (gang.matmul->sample_count > 1) measured.relative_spread = gang.matmul->relative_spread;
  WriterOf({.quantity = "matmul_flops_per_second",
            .data_type = gang.matmul->data_type,
            .unit = "FLOP/s",
            .measured = std::move(measured)},
           out)
      .FromMeasurement(*gang.slowest, {.value = gang.matmul->rate.value(),
                                       .source = gang.source,
                                       .citation = std::move(citation)});
}

// The memory of one device by the best source that has it; absent where none does.
absl::optional<Bytes> FindMemory(const RunSpec& run, ResolvedRun& out) {
  RateWriter writer = WriterOf({.quantity = "memory_bytes", .unit = "byte"}, out);
  double bytes = 0;  // at most 1e15: exact
  if (run.cluster.device_memory_bytes.has_value()) {
    bytes = writer.FromRequest(static_cast<double>(*run.cluster.device_memory_bytes));
  } else if (!out.measured.has_value()) {
    bytes = writer.FromDatasheet(*out.accelerator, out.accelerator->memory_bytes);
  } else if (const DeviceCalibration* c = out.measured->smallest; c != nullptr) {
    bytes = writer.FromMeasurement(*c, {.value = static_cast<double>(c->memory.value()),
                                        .source = out.measured->source,
                                        .citation = "as the device's host reports it"});
  } else {
    return absl::nullopt;
  }
  return Bytes(static_cast<int64_t>(bytes));
}

void ResolveMemory(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  // Out of their ranges these two would overflow below.
  if (violations.Mentions("cluster.device_memory_bytes") ||
      violations.Mentions("cluster.reserved_memory_bytes")) {
    return;
  }
  const absl::optional<Bytes> memory = FindMemory(run, out);
  if (!memory.has_value()) return;
  if (*memory > Bytes(kMaxDeviceMemoryBytes)) {
    violations.Add("cluster.device_memory_bytes",
                   absl::StrCat("is required, at most ", kMaxDeviceMemoryBytes,
                                ": the device reports ", memory->value(), " bytes"));
  }
  const Bytes reserved(run.cluster.reserved_memory_bytes.value_or(0));
  if (reserved >= *memory) {
    violations.Add(
        "cluster.reserved_memory_bytes",
        absl::StrCat("must be less than the device's memory, ", memory->value(), " bytes"));
  }
  out.device_memory = *memory;
  out.usable_per_device = *memory - reserved;
}

void ResolvePower(const RunSpec& run, ResolvedRun& out) {
  RateWriter writer = WriterOf({.quantity = "device_power_watts", .unit = "W"}, out);
  if (run.economics.device_power_watts.has_value()) {
    out.device_power = Watts(writer.FromRequest(*run.economics.device_power_watts));
  } else if (out.accelerator != nullptr && out.accelerator->thermal_design_power_watts) {
    out.device_power =
        Watts(writer.FromDatasheet(*out.accelerator, out.accelerator->thermal_design_power_watts));
  }
}

}  // namespace

void ResolveRates(const RunSpec& run, ResolvedRun& out, FieldViolations& violations) {
  out.rates.reserve(4);
  ResolvePeak(run, out, violations);
  ResolveMatmul(out);
  ResolveMemory(run, out, violations);
  ResolvePower(run, out);
}

}  // namespace sextant
