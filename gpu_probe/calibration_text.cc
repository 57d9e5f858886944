#include "gpu_probe/calibration_text.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gpu_probe/enum_text.h"
#include "gpu_probe/environment_text.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/gpu_tables.h"
#include "gpu_probe/kernel_tables.h"
#include "gpu_probe/measurement_cells.h"
#include "gpu_probe/text_table.h"

namespace sextant {
namespace {

using Matmuls = google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>;

// A type's shapes that are shown: all of them, but of a large grid those whose n and k are equal.
constexpr int kMostShapesOfAType = 40;
// Kernels of a type that are named.
constexpr size_t kMostNamedKernels = 4;

std::map<v1::DataType, int> ShapeCounts(const Matmuls& all) {
  std::map<v1::DataType, int> counts;
  for (const v1::MatmulMeasurement& matmul : all) ++counts[matmul.data_type()];
  return counts;
}

bool IsShown(const v1::MatmulMeasurement& matmul, int shape_count) {
  return shape_count <= kMostShapesOfAType || matmul.n() == matmul.k();
}

// Which library and kernel did what: "  fp32 by onednn 2.6.3 brgemm:avx512_core", a line each.
std::string EnginesText(const Matmuls& all) {
  std::map<std::string, std::set<std::string>> kernels;  // by type and library
  for (const v1::MatmulMeasurement& matmul : all) {
    kernels[absl::StrCat("  ", EnumText(matmul.data_type()), " by ", matmul.engine())].insert(
        matmul.kernel());
  }
  std::string text;
  for (const auto& [by, names] : kernels) {
    if (names.size() > kMostNamedKernels) {
      absl::StrAppend(&text, PrintableText(by), ", ", names.size(), " kernels\n");
      continue;
    }
    for (const std::string& name : names) {
      absl::StrAppend(&text, WrapText(PrintableText(absl::StrCat(by, " ", name)), /*hanging=*/4));
    }
  }
  return text;
}

// "  bf16: 71 more shapes are in the calibration", a line for each type of a large grid.
std::string UnshownText(const Matmuls& all) {
  std::string text;
  for (const auto& [type, count] : ShapeCounts(all)) {
    const auto unshown = std::count_if(all.begin(), all.end(), [&](const auto& matmul) {
      return matmul.data_type() == type && !IsShown(matmul, count);
    });
    if (unshown == 0) continue;
    absl::StrAppend(&text, "  ", EnumText(type), ": ", unshown,
                    " more shapes are in the calibration\n");
  }
  return text;
}

std::string RegisterText(const v1::MatmulMeasurement& matmul) {
  return matmul.has_register_ratio() ? PercentText(matmul.register_ratio()) : "";
}

// Of the fastest of all kernels that were tried.
std::string BestText(const v1::MatmulMeasurement& matmul) {
  return matmul.has_best_flops_per_second() ? RateText(matmul.best_flops_per_second(), "FLOP/s")
                                            : "";
}

std::string MatmulTable(absl::string_view heading, const Matmuls& all) {
  // A rate beyond that of the library's own choice takes the column that GPUs have no use for.
  const bool searched = std::any_of(all.begin(), all.end(), [](const v1::MatmulMeasurement& m) {
    return m.has_best_flops_per_second();
  });
  TextTable table({"type", ">m", ">n", ">k", ">rate", ">time", ">spread", ">samples",
                   searched ? ">best" : ">registers", ""});
  std::map<v1::DataType, int> counts = ShapeCounts(all);
  for (const v1::MatmulMeasurement& matmul : all) {
    if (!IsShown(matmul, counts[matmul.data_type()])) continue;
    table.AddRow({EnumText(matmul.data_type()), absl::StrCat(matmul.m()), absl::StrCat(matmul.n()),
                  absl::StrCat(matmul.k()), RateText(matmul.flops_per_second(), "FLOP/s"),
                  SecondsText(matmul.time().median_seconds()), SpreadText(matmul.time()),
                  absl::StrCat(matmul.time().sample_count()),
                  searched ? BestText(matmul) : RegisterText(matmul), StableText(matmul.time())});
  }
  return absl::StrCat(Section(heading, table), UnshownText(all), EnginesText(all));
}

std::string RegisterTable(const v1::Calibration& calibration) {
  TextTable table({"type", ">rate", ">spread", ">samples", "", "instruction"});
  for (const v1::RegisterMeasurement& measured : calibration.registers()) {
    table.AddRow({EnumText(measured.data_type()), RateText(measured.flops_per_second(), "FLOP/s"),
                  SpreadText(measured.time()), absl::StrCat(measured.time().sample_count()),
                  StableText(measured.time()), measured.instruction()});
  }
  return Section("Registers: multiply-adds that touch no memory, all cores", table);
}

std::string StreamTable(const v1::Calibration& calibration) {
  TextTable table({"operation", ">array", "in", ">rate", ">spread", ">samples", ""});
  for (const v1::StreamMeasurement& stream : calibration.streams()) {
    table.AddRow({EnumText(stream.operation()), BytesText(stream.array_bytes()),
                  stream.main_memory() ? "memory" : "cache",
                  RateText(stream.bytes_per_second(), "B/s"), SpreadText(stream.time()),
                  absl::StrCat(stream.time().sample_count()), StableText(stream.time())});
  }
  return Section("Passes over memory: bytes read plus bytes written", table);
}

std::string ElementwiseTable(const v1::Calibration& calibration) {
  TextTable table(
      {">multiply-adds", ">intensity", ">arithmetic", ">memory", ">spread", ">samples", ""});
  for (const v1::ElementwiseMeasurement& step : calibration.elementwise()) {
    table.AddRow({absl::StrCat(step.multiply_add_count()),
                  absl::StrFormat("%.2f FLOP/B", step.flops_per_byte()),
                  RateText(step.flops_per_second(), "FLOP/s"),
                  RateText(step.bytes_per_second(), "B/s"), SpreadText(step.time()),
                  absl::StrCat(step.time().sample_count()), StableText(step.time())});
  }
  std::string text = Section("Elementwise: multiply-adds an fp32 element, in place", table);
  if (calibration.has_ridge_flops_per_byte()) {
    absl::StrAppendFormat(&text, "  ridge: %.2f FLOP/B; work above it is bound by arithmetic\n",
                          calibration.ridge_flops_per_byte());
  }
  return text;
}

std::string FusionText(const v1::Calibration& calibration) {
  if (!calibration.has_fusion()) return "";
  const v1::FusionMeasurement& fusion = calibration.fusion();
  const bool stable = fusion.unfused_time().stable() && fusion.fused_time().stable();
  return absl::StrFormat(
      "\nFusion: %d elementwise operations over %s\n  apart %s, fused %s: %.2f times as fast%s\n",
      fusion.operation_count(), BytesText(fusion.array_bytes()),
      SecondsText(fusion.unfused_time().median_seconds()),
      SecondsText(fusion.fused_time().median_seconds()), fusion.speedup_ratio(),
      stable ? "" : "  unstable");
}

std::string DeviceText(const v1::Device& device) {
  std::string facts = absl::StrCat(device.product_name(), ", ", device.uuid());
  if (!device.hostname().empty()) absl::StrAppend(&facts, " in ", device.hostname());
  if (device.has_compute_unit_count()) {
    const bool cpu = device.kind() == v1::DEVICE_KIND_CPU;
    absl::StrAppend(&facts, ", ", device.compute_unit_count(), cpu ? " cores" : " multiprocessors");
  }
  if (device.memory_bytes() > 0) {
    absl::StrAppend(&facts, ", ", BytesText(device.memory_bytes()), " memory");
  }
  if (device.has_cache_bytes()) {
    absl::StrAppend(&facts, ", ", BytesText(device.cache_bytes()), " cache");
  }
  if (device.has_compute_capability()) {
    absl::StrAppend(&facts, ", compute capability ", device.compute_capability());
  }
  if (device.has_driver_version()) absl::StrAppend(&facts, ", driver ", device.driver_version());
  if (device.has_power_limit_watts()) {
    absl::StrAppendFormat(&facts, ", limited to %.0f W", device.power_limit_watts());
  }
  if (device.instruction_sets_size() > 0) {
    absl::StrAppend(&facts, "; ", absl::StrJoin(device.instruction_sets(), " "));
  }
  return WrapText(PrintableText(facts), /*hanging=*/2);
}

std::string RunText(const v1::Calibration& calibration) {
  std::string facts = absl::StrCat(
      "Measured ", google::protobuf::util::TimeUtil::ToString(calibration.measured_time()), " by ",
      calibration.probe_version(), ", ", EnumText(calibration.mode()), ", in ",
      SecondsText(calibration.duration_seconds()), ": ", PercentText(calibration.coverage_ratio()),
      " of the points, ", calibration.checked_result_count(), " results checked");
  if (calibration.has_drift_ratio()) {
    absl::StrAppend(&facts, ", drift ", calibration.drift_ratio() < 0 ? "" : "+",
                    PercentText(calibration.drift_ratio()));
  }
  return WrapText(PrintableText(facts), /*hanging=*/2);
}

}  // namespace

std::string CalibrationText(const v1::Calibration& calibration) {
  std::string text = absl::StrCat(
      DeviceText(calibration.device()), RunText(calibration), RegisterTable(calibration),
      MatmulTable("Matrix multiplication, C[m,n] = A[m,k] B[k,n]: 2 m n k FLOP",
                  calibration.matmuls()),
      MatmulTable("Matrix multiplication without a pause", calibration.sustained_matmuls()),
      StreamTable(calibration), ElementwiseTable(calibration), FusionText(calibration),
      KernelTables(calibration), GpuTables(calibration), EnvironmentText(calibration));
  if (calibration.notes_size() > 0) absl::StrAppend(&text, "\nNotes\n");
  for (const std::string& note : calibration.notes()) {
    absl::StrAppend(&text, WrapText(absl::StrCat("  - ", PrintableText(note)), /*hanging=*/4));
  }
  return text;
}

std::string DevicesText(const std::vector<v1::Device>& devices) {
  std::string text;
  for (const v1::Device& device : devices) absl::StrAppend(&text, DeviceText(device));
  return text;
}

}  // namespace sextant
