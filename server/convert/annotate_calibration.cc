#include "server/convert/annotate_calibration.h"

#include <algorithm>
#include <string>

#include "engine/base/field_violation.h"
#include "engine/hardware/catalogue.h"
#include "server/convert/enums.h"

namespace sextant::server {
namespace {

void AnnotateMatmul(const Accelerator* accelerator, v1::MatmulMeasurement& matmul) {
  matmul.clear_datasheet_mfu();
  const auto peak = DatasheetPeakFlopsPerSecond(accelerator, matmul.data_type());
  if (peak.has_value()) matmul.set_datasheet_mfu(matmul.flops_per_second() / *peak);
}

}  // namespace

absl::optional<double> DatasheetPeakFlopsPerSecond(const Accelerator* accelerator,
                                                   v1::DataType type) {
  if (accelerator == nullptr) return {};
  // A type of a newer version has no peak.
  const DatasheetValue peak = PeakFlopsPerSecond(*accelerator, DataTypePair::Known(type));
  return peak ? absl::make_optional(peak.value) : absl::nullopt;
}

void AnnotateDevice(v1::Device* device) {
  device->clear_accelerator();
  const Accelerator* accelerator = AcceleratorReportedAs(device->product_name());
  if (accelerator != nullptr) device->set_accelerator(std::string(accelerator->name));
}

void AnnotateCalibration(v1::Calibration* calibration) {
  AnnotateDevice(calibration->mutable_device());
  const Accelerator* accelerator = AcceleratorReportedAs(calibration->device().product_name());
  for (auto& matmul : *calibration->mutable_matmuls()) AnnotateMatmul(accelerator, matmul);
}

bool IsAnnotated(const v1::Calibration& calibration) {
  const auto& matmuls = calibration.matmuls();
  return calibration.device().has_accelerator() ||
         std::any_of(matmuls.begin(), matmuls.end(),
                     [](const v1::MatmulMeasurement& m) { return m.has_datasheet_mfu(); });
}

void ClearAnnotations(v1::Calibration* calibration) {
  if (calibration->has_device()) calibration->mutable_device()->clear_accelerator();
  for (auto& matmul : *calibration->mutable_matmuls()) matmul.clear_datasheet_mfu();
}

}  // namespace sextant::server
