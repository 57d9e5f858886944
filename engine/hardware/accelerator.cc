#include "engine/hardware/accelerator.h"

#include "absl/strings/str_cat.h"

namespace sextant {

namespace {

// True where the matrix units' fp8 is OCP's e4m3. Two vendors shipped another e4m3, with a largest
// number of 240: AMD's CDNA 3 (FNUZ: HIP documentation 6.2, "FP8 Numbers", supported devices) and
// Intel's Gaudi 2 (HabanaAI/vllm-fork pull request 1505 halves OCP weights for it).
bool HasOcpE4m3(const Accelerator& a) { return a.architecture != "CDNA3" && a.name != "gaudi2"; }

// CDNA 3 is FNUZ; Gaudi 2's e5m2 is IEEE-like, as OCP's.
bool HasOcpE5m2(const Accelerator& a) { return a.architecture != "CDNA3"; }

// True where the matrix units take block scales at the rate of their fp8 figure. These devices
// have an fp6 figure. GeForce Blackwell has none. It multiplies mxfp8, too, but its fp8 figure is
// halved by fp32 accumulation, which does not apply to scaled products (flashinfer issue 3628), so
// no figure here holds for them.
bool TakesBlockScalesAtFp8Rate(const Accelerator& a) { return a.fp6_flops_per_second.present; }

DatasheetValue OnlyIf(bool held, const DatasheetValue& figure) {
  return held ? figure : DatasheetValue();
}

}  // namespace

bool Multiplies(absl::string_view architecture, DataType type) {
  // The formats beyond fp16 that an architecture has.
  enum Formats { kNone, kBf16Too, kFp8Too, kBlocksToo };
  constexpr struct {
    absl::string_view architecture;
    Formats formats;
  } kArchitectures[] = {{"Volta", kNone},    {"Turing", kNone}, {"Ampere", kBf16Too},
                        {"CDNA2", kBf16Too}, {"Ada", kFp8Too},  {"Hopper", kFp8Too},
                        {"CDNA3", kFp8Too}};
  Formats formats = kBlocksToo;
  for (const auto& known : kArchitectures) {
    if (known.architecture == architecture) formats = known.formats;
  }
  switch (type) {
    case DataType::kBf16:
      return formats >= kBf16Too;
    case DataType::kFp8:
    case DataType::kFp8E4m3:
    case DataType::kFp8E5m2:
      return formats >= kFp8Too;
    case DataType::kFp6:
    case DataType::kFp4:
    case DataType::kMxfp8:
    case DataType::kMxfp4:
    case DataType::kNvfp4:
      return formats >= kBlocksToo;
    default:
      return true;
  }
}

std::string SourceOf(const Accelerator& accelerator, const DatasheetValue& figure) {
  constexpr char kVendor[] = "vendor's datasheet or architecture whitepaper, not re-read";
  switch (figure.source) {
    case FigureSource::kTable:
      return std::string(accelerator.table_source);
    case FigureSource::kRoundedTable:
      return absl::StrCat(kVendor, "; rounds to ", accelerator.table_source);
    case FigureSource::kDriver:
      return std::string(accelerator.driver_source);
    case FigureSource::kRecall:
      break;
  }
  return kVendor;
}

DatasheetValue PeakFlopsPerSecond(const Accelerator& a, DataType type) {
  switch (type) {
    case DataType::kFp64:
      return a.fp64_matrix_flops_per_second ? a.fp64_matrix_flops_per_second
                                            : a.fp64_flops_per_second;
    case DataType::kFp32:
      return a.fp32_matrix_flops_per_second ? a.fp32_matrix_flops_per_second
                                            : a.fp32_flops_per_second;
    case DataType::kTf32:
      return a.tf32_flops_per_second;
    case DataType::kFp16:
      return a.fp16_flops_per_second;
    case DataType::kBf16:
      return a.bf16_flops_per_second;
    case DataType::kFp8:
      return a.fp8_flops_per_second;
    case DataType::kInt8:
      return a.int8_flops_per_second;
    case DataType::kFp6:
      return a.fp6_flops_per_second;
    case DataType::kFp4:
      return a.fp4_flops_per_second;
    case DataType::kFp8E4m3:
      return OnlyIf(HasOcpE4m3(a), a.fp8_flops_per_second);
    case DataType::kFp8E5m2:
      return OnlyIf(HasOcpE5m2(a), a.fp8_flops_per_second);
    case DataType::kMxfp8:
      return OnlyIf(TakesBlockScalesAtFp8Rate(a), a.fp8_flops_per_second);
    case DataType::kMxfp4:
      return a.fp4_flops_per_second;
    case DataType::kNvfp4:
      return OnlyIf(a.vendor == "NVIDIA", a.fp4_flops_per_second);
    case DataType::kInt4:  // no row of the catalogue has a figure
    case DataType::kUnspecified:
      break;
  }
  return DatasheetValue();
}

}  // namespace sextant
