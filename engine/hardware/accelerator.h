// An accelerator's datasheet: figures with their sources.
#ifndef SEXTANT_ENGINE_HARDWARE_ACCELERATOR_H_
#define SEXTANT_ENGINE_HARDWARE_ACCELERATOR_H_

#include <string>

#include "absl/strings/string_view.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The origin of a figure.
enum class FigureSource {
  kTable,         // the row's own table_source, a public table
  kRoundedTable,  // the vendor's figure, not re-read; agrees with that table's rounded value
  kRecall,        // the vendor's datasheet or whitepaper, from memory, not re-read
  kDriver,        // public reports of the product's driver, which the row's driver_source names
};

// One figure, in the SI base unit of the field that holds it. No vendor publishes all figures; a
// missing one is absent, never zero.
struct DatasheetValue {
  double value = 0;
  FigureSource source = FigureSource::kRecall;
  bool present = false;

  constexpr explicit operator bool() const { return present; }
};

struct Accelerator {
  absl::string_view name;          // the catalogue's key, "h100-sxm"
  absl::string_view product_name;  // "H100 SXM5 80GB"
  absl::string_view vendor;
  absl::string_view architecture;
  absl::string_view form_factor;
  absl::string_view memory_type;
  absl::string_view link_type;
  absl::string_view table_source;   // the source that FigureSource::kTable means in this row
  absl::string_view driver_source;  // the same of FigureSource::kDriver
  absl::string_view notes;

  DatasheetValue memory_bytes;  // nominal GB taken as 1e9
  // Total of the driver (nvidia-smi, rocm-smi), and its part that no process gets: the total less
  // that of CUDA or HIP. Absent where no public report names the product.
  DatasheetValue reported_memory_bytes;
  DatasheetValue driver_reserved_bytes;
  DatasheetValue memory_bandwidth_bytes_per_second;  // read plus write
  DatasheetValue fp64_flops_per_second;              // dense peaks; sparsity is never counted
  DatasheetValue fp64_matrix_flops_per_second;       // of the matrix units
  DatasheetValue fp32_flops_per_second;
  DatasheetValue fp32_matrix_flops_per_second;
  DatasheetValue tf32_flops_per_second;
  DatasheetValue fp16_flops_per_second;
  DatasheetValue bf16_flops_per_second;
  DatasheetValue fp8_flops_per_second;
  DatasheetValue int8_flops_per_second;  // integer operations
  bool int8_on_general_units = false;
  DatasheetValue fp6_flops_per_second;
  DatasheetValue fp4_flops_per_second;
  DatasheetValue link_bandwidth_bytes_per_second;                // one direction, per device
  DatasheetValue link_bidirectional_bandwidth_bytes_per_second;  // both directions summed
  DatasheetValue pcie_generation;
  DatasheetValue cache_bytes;  // a datasheet's "MB" of cache is 2^20
  DatasheetValue compute_unit_count;
  DatasheetValue boost_clock_hertz;
  DatasheetValue thermal_design_power_watts;
};

// The source of `figure` of `accelerator`, as text.
std::string SourceOf(const Accelerator& accelerator, const DatasheetValue& figure);

// False where the matrix units of `architecture` are known not to multiply `type`: bf16 came with
// NVIDIA's Ampere and AMD's CDNA 1, fp8 with Ada, Hopper and CDNA 3, block scales with Blackwell
// and CDNA 4.
// Source: NVIDIA, CUDA C++ Programming Guide, "Element Types, Precision and Matrix Sizes" of warp
// matrix functions, and PTX ISA, "mma" and "tcgen05.mma"; AMD, ISA documents of CDNA 2 to 4,
// "MFMA".
bool Multiplies(absl::string_view architecture, DataType type);

// The dense peak of a matrix multiplication in `type`: that of the matrix units where they support
// `type`, else of the general units. Absent where the datasheet has none. Datasheets name
// families; a family's figure applies to its members where the device computes in them: fp8 to
// OCP's e4m3 and e5m2 and, where the matrix units take block scales, to mxfp8; fp4 to mxfp4 and,
// on NVIDIA's devices, to nvfp4.
DatasheetValue PeakFlopsPerSecond(const Accelerator& accelerator, DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_ACCELERATOR_H_
