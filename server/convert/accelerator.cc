#include "server/convert/accelerator.h"

#include <string>

#include "absl/strings/string_view.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

// Writes the figures of one accelerator; absent ones stay absent.
class FigureWriter {
 public:
  explicit FigureWriter(const Accelerator& accelerator) : accelerator_(accelerator) {}

  // `field` is a mutable_x() of the message, called only where there is a figure.
  template <typename MutableField>
  void Write(const DatasheetValue& figure, MutableField field) const {
    if (!figure) return;
    v1::DatasheetFigure* out = field();
    out->set_value(figure.value);
    out->set_source(SourceOf(accelerator_, figure));
  }

  void WritePeak(const DatasheetValue& figure, DataType type, bool matrix_unit,
                 v1::Accelerator* out) const {
    if (!figure) return;
    v1::PeakRate* peak = out->add_peak_rates();
    peak->set_data_type(DataTypePair::To(type));
    peak->set_matrix_unit(matrix_unit);
    Write(figure, [&] { return peak->mutable_flops_per_second(); });
  }

 private:
  const Accelerator& accelerator_;
};

void PeaksTo(const Accelerator& a, const FigureWriter& writer, v1::Accelerator* out) {
  writer.WritePeak(a.fp64_flops_per_second, DataType::kFp64, false, out);
  writer.WritePeak(a.fp64_matrix_flops_per_second, DataType::kFp64, true, out);
  writer.WritePeak(a.fp32_flops_per_second, DataType::kFp32, false, out);
  writer.WritePeak(a.fp32_matrix_flops_per_second, DataType::kFp32, true, out);
  writer.WritePeak(a.tf32_flops_per_second, DataType::kTf32, true, out);
  writer.WritePeak(a.fp16_flops_per_second, DataType::kFp16, true, out);
  writer.WritePeak(a.bf16_flops_per_second, DataType::kBf16, true, out);
  writer.WritePeak(a.fp8_flops_per_second, DataType::kFp8, true, out);
  writer.WritePeak(a.int8_flops_per_second, DataType::kInt8, !a.int8_on_general_units, out);
  writer.WritePeak(a.fp6_flops_per_second, DataType::kFp6, true, out);
  writer.WritePeak(a.fp4_flops_per_second, DataType::kFp4, true, out);
}

}  // namespace

void AcceleratorTo(const Accelerator& a, v1::Accelerator* out) {
  out->set_name(Text(a.name));
  out->set_product_name(Text(a.product_name));
  out->set_vendor(Text(a.vendor));
  out->set_architecture(Text(a.architecture));
  out->set_form_factor(Text(a.form_factor));
  out->set_memory_type(Text(a.memory_type));
  out->set_link_type(Text(a.link_type));
  out->set_notes(Text(a.notes));
  const FigureWriter writer(a);
  writer.Write(a.memory_bytes, [&] { return out->mutable_memory_bytes(); });
  writer.Write(a.reported_memory_bytes, [&] { return out->mutable_reported_memory_bytes(); });
  writer.Write(a.driver_reserved_bytes, [&] { return out->mutable_driver_reserved_bytes(); });
  writer.Write(a.memory_bandwidth_bytes_per_second,
               [&] { return out->mutable_memory_bandwidth_bytes_per_second(); });
  PeaksTo(a, writer, out);
  writer.Write(a.link_bandwidth_bytes_per_second,
               [&] { return out->mutable_link_bandwidth_bytes_per_second(); });
  writer.Write(a.link_bidirectional_bandwidth_bytes_per_second,
               [&] { return out->mutable_link_bidirectional_bandwidth_bytes_per_second(); });
  writer.Write(a.pcie_generation, [&] { return out->mutable_pcie_generation(); });
  writer.Write(a.cache_bytes, [&] { return out->mutable_cache_bytes(); });
  writer.Write(a.compute_unit_count, [&] { return out->mutable_compute_unit_count(); });
  writer.Write(a.boost_clock_hertz, [&] { return out->mutable_boost_clock_hertz(); });
  writer.Write(a.thermal_design_power_watts,
               [&] { return out->mutable_thermal_design_power_watts(); });
}

}  // namespace sextant::server
