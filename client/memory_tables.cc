#include "client/memory_tables.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/table.h"
#include "client/time_cells.h"

namespace sextant {
namespace {

std::string BytesText(int64_t bytes) { return WithUnit(static_cast<double>(bytes), "byte"); }

std::string RidgeText(const v1::Calibration& calibration) {
  if (!calibration.has_ridge_flops_per_byte()) return "";
  return Wrap("  ",
              absl::StrFormat("ridge: %.2f FLOP a byte; below it memory binds, above it arithmetic",
                              calibration.ridge_flops_per_byte()),
              2);
}

// What binds a step of the ladder, where the ridge is known.
std::string BoundCell(const v1::Calibration& calibration,
                      const v1::ElementwiseMeasurement& measured) {
  if (!calibration.has_ridge_flops_per_byte()) return kNoValue;
  return measured.flops_per_byte() < calibration.ridge_flops_per_byte() ? "memory" : "arithmetic";
}

std::string FusionLine(const v1::FusionMeasurement& fusion) {
  return absl::StrFormat("%d operations over %s, fused: %.2f times as fast",
                         fusion.operation_count(), BytesText(fusion.array_bytes()),
                         fusion.speedup_ratio());
}

}  // namespace

std::string StreamSection(const v1::Calibration& calibration) {
  if (calibration.streams().empty()) return "";
  const Align right = Align::kRight;
  Table table(2, Joined({Align::kLeft, Align::kLeft, right, right}, TimeAligns()));
  table.AddRow(Joined({"pass", "in", "array", "rate"}, TimeHeadings()));
  for (const v1::StreamMeasurement& stream : calibration.streams()) {
    table.AddRow(
        Joined({EnumName(*v1::StreamMeasurement::Operation_descriptor(), stream.operation()),
                stream.main_memory() ? "memory" : "cache", BytesText(stream.array_bytes()),
                Scaled(stream.bytes_per_second(), "B/s")},
               TimeCells(stream.has_time(), stream.time())));
  }
  return absl::StrCat("\nMemory (bytes read plus bytes written)\n", table.Text());
}

std::string ElementwiseSection(const v1::Calibration& calibration) {
  if (calibration.elementwise().empty()) return "";
  const Align right = Align::kRight;
  Table table(2, Joined({right, right, right, right, Align::kLeft}, TimeAligns()));
  table.AddRow(
      Joined({"multiply-adds", "FLOP/byte", "rate", "bandwidth", "bound by"}, TimeHeadings()));
  for (const v1::ElementwiseMeasurement& measured : calibration.elementwise()) {
    table.AddRow(
        Joined({Grouped(measured.multiply_add_count()), Plain(measured.flops_per_byte()),
                Scaled(measured.flops_per_second(), "FLOP/s"),
                Scaled(measured.bytes_per_second(), "B/s"), BoundCell(calibration, measured)},
               TimeCells(measured.has_time(), measured.time())));
  }
  return absl::StrCat("\nElementwise (multiply-adds an fp32 element, in place)\n", table.Text(),
                      RidgeText(calibration));
}

std::string FusionSection(const v1::Calibration& calibration) {
  if (!calibration.has_fusion()) return "";
  const v1::FusionMeasurement& fusion = calibration.fusion();
  Table table(2, Joined({Align::kLeft}, TimeAligns()));
  table.AddRow(Joined({"chain"}, TimeHeadings()));
  table.AddRow(Joined({"one pass an operation"},
                      TimeCells(fusion.has_unfused_time(), fusion.unfused_time())));
  table.AddRow(
      Joined({"one pass for all"}, TimeCells(fusion.has_fused_time(), fusion.fused_time())));
  return absl::StrCat("\nFusion\n", table.Text(), Wrap("  ", FusionLine(fusion), 2));
}

}  // namespace sextant
