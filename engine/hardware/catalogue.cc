#include "engine/hardware/catalogue.h"

#include <cmath>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "engine/base/near_names.h"
#include "engine/base/reason.h"
#include "engine/hardware/catalogue_tables.h"

namespace sextant {
namespace {

using Index = absl::flat_hash_map<std::string, const Accelerator*>;

// By ComparableName(), and by the names as they are.
const Index& IndexByName() {
  static const Index* const index = [] {
    auto* out = new Index;
    for (const Accelerator& a : Accelerators()) {
      out->emplace(a.name, &a);
      out->emplace(ComparableName(a.name), &a);
      out->emplace(ComparableName(a.product_name), &a);
    }
    return out;
  }();
  return *index;
}

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kMega = 1e6;
constexpr double kCacheMegabyte = 1024 * 1024;
constexpr double kMebibyte = 1024 * 1024;

// Every figure is a whole number of SI units; rounding removes the binary error of e.g. 989.4.
DatasheetValue Scaled(DatasheetValue printed, double unit) {
  return {std::round(printed.value * unit), printed.source, printed.present};
}

// All absent where no report of the product is known.
DriverMemoryRow DriverMemoryOf(absl::string_view name) {
  for (const DriverMemoryRow& row : DriverMemoryTable()) {
    if (row.name == name) return row;
  }
  return {.name = name};
}

// Converts printed units to SI base units; the only place that does.
Accelerator AcceleratorOf(const DatasheetRow& row) {
  const DriverMemoryRow driver = DriverMemoryOf(row.name);
  return {
      .name = row.name,
      .product_name = row.product_name,
      .vendor = row.vendor,
      .architecture = row.architecture,
      .form_factor = row.form_factor,
      .memory_type = row.memory_type,
      .link_type = row.link_type,
      .table_source = row.table_source,
      .driver_source = driver.source,
      .notes = row.notes,
      .memory_bytes = Scaled(row.memory_gb, kGiga),
      .reported_memory_bytes = Scaled(driver.reported_mib, kMebibyte),
      .driver_reserved_bytes = Scaled(driver.reserved_mib, kMebibyte),
      .memory_bandwidth_bytes_per_second = Scaled(row.bandwidth_gb, kGiga),
      .fp64_flops_per_second = Scaled(row.fp64, kTera),
      .fp64_matrix_flops_per_second = Scaled(row.fp64_matrix, kTera),
      .fp32_flops_per_second = Scaled(row.fp32, kTera),
      .fp32_matrix_flops_per_second = Scaled(row.fp32_matrix, kTera),
      .tf32_flops_per_second = Scaled(row.tf32, kTera),
      .fp16_flops_per_second = Scaled(row.fp16, kTera),
      .bf16_flops_per_second = Scaled(row.bf16, kTera),
      .fp8_flops_per_second = Scaled(row.fp8, kTera),
      .int8_flops_per_second = Scaled(row.int8, kTera),
      .int8_on_general_units = row.int8_on_general_units,
      .fp6_flops_per_second = Scaled(row.fp6, kTera),
      .fp4_flops_per_second = Scaled(row.fp4, kTera),
      .link_bandwidth_bytes_per_second = Scaled(row.link_gb, kGiga),
      .link_bidirectional_bandwidth_bytes_per_second = Scaled(row.link_both_gb, kGiga),
      .pcie_generation = row.pcie,
      .cache_bytes = Scaled(row.cache_mb, kCacheMegabyte),
      .compute_unit_count = row.units,
      .boost_clock_hertz = Scaled(row.boost_mhz, kMega),
      .thermal_design_power_watts = row.tdp,
  };
}

const NearNameIndex& Names() {
  static const NearNameIndex& names = *[] {
    std::vector<KnownName> all;
    for (const Accelerator& a : Accelerators()) all.push_back({a.name, a.product_name});
    return new NearNameIndex(all);
  }();
  return names;
}

struct ReportedName {
  absl::string_view reported;
  absl::string_view name;  // the catalogue's
};

// Names that nvidia-smi and rocm-smi print, without the vendor's name. GH200's say the
// memory of its processor. From memory, not re-read.
constexpr ReportedName kReportedNames[] = {
    {"Tesla V100-SXM2-16GB", "v100-sxm-16"},
    {"Tesla V100-SXM2-32GB", "v100-sxm-32"},
    {"Tesla V100-SXM3-32GB", "v100-sxm-32"},
    {"A100-SXM4-40GB", "a100-sxm-40"},
    {"A100-SXM4-80GB", "a100-sxm-80"},
    {"A100-PCIE-40GB", "a100-pcie-40"},
    {"A100 80GB PCIe", "a100-pcie-80"},
    {"A800-SXM4-80GB", "a800-sxm-80"},
    {"A800 80GB PCIe", "a800-pcie-80"},
    {"H100 80GB HBM3", "h100-sxm"},
    {"H100 PCIe", "h100-pcie"},
    {"H100 NVL", "h100-nvl"},
    {"H200", "h200-sxm"},
    {"H200 NVL", "h200-nvl"},
    {"H20-3e", "h20-141"},
    {"GH200 480GB", "gh200-96"},
    {"GH200 120GB", "gh200-96"},
    {"GH200 144G HBM3e", "gh200-144"},
    {"B200", "b200-sxm"},
    {"GB200", "gb200"},
    {"GeForce RTX 3090", "rtx-3090"},
    {"GeForce RTX 4090", "rtx-4090"},
    {"GeForce RTX 5090", "rtx-5090"},
    {"RTX 6000 Ada Generation", "rtx-6000-ada"},
    {"RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
    {"RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
    {"Tesla T4", "t4"},
};

absl::string_view WithoutVendor(absl::string_view name) {
  for (const absl::string_view vendor : {"nvidia", "amd"}) {
    if (absl::StartsWithIgnoreCase(name, vendor)) return name.substr(vendor.size());
  }
  return name;
}

// Families by the member that most runs are on.
constexpr ReportedName kFamilies[] = {
    {"a800", "a800-sxm-80"}, {"b200", "b200-sxm"}, {"b300", "b300-sxm"},
    {"h100", "h100-sxm"},    {"h200", "h200-sxm"}, {"h800", "h800-sxm"},
};

// The type in Slurm's name of a generic resource: "h100" of "gpu:h100:8", "gres/gpu:h100=8" and
// "gpu:h100:2(S:0-1)". Any other name as it is.
absl::string_view TypeOfResource(absl::string_view name) {
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, "gres/")) absl::ConsumePrefix(&rest, "gres:");
  if (!absl::ConsumePrefix(&rest, "gpu:")) return name;
  return rest.substr(0, rest.find_first_of(":=("));
}

const absl::flat_hash_map<std::string, const Accelerator*>& ByReportedName() {
  static const auto* const index = [] {
    auto* out = new absl::flat_hash_map<std::string, const Accelerator*>;
    for (const ReportedName& row : kReportedNames) {
      out->emplace(ComparableName(row.reported), AcceleratorNamed(row.name));
    }
    return out;
  }();
  return *index;
}

}  // namespace

const std::vector<Accelerator>& Accelerators() {
  static const auto* const all = [] {
    auto* out = new std::vector<Accelerator>;
    for (const auto table : {NvidiaTable(), OtherVendorsTable()}) {
      for (const DatasheetRow& row : table) out->push_back(AcceleratorOf(row));
    }
    return out;
  }();
  return *all;
}

std::vector<const Accelerator*> AcceleratorsComputingIn(DataType type) {
  std::vector<const Accelerator*> out;
  for (const Accelerator& a : Accelerators()) {
    if (PeakFlopsPerSecond(a, type)) out.push_back(&a);
  }
  return out;
}

const Accelerator* AcceleratorNamed(absl::string_view name) {
  const Index& index = IndexByName();
  auto it = index.find(name);
  if (it == index.end()) it = index.find(ComparableName(name));
  return it == index.end() ? nullptr : it->second;
}

absl::StatusOr<const Accelerator*> FindAccelerator(absl::string_view name) {
  const absl::string_view type = TypeOfResource(name);
  if (const Accelerator* found = AcceleratorReportedAs(type); found != nullptr) return found;
  const std::string family = ComparableName(WithoutVendor(type));
  for (const ReportedName& row : kFamilies) {
    if (family == row.reported) return AcceleratorNamed(row.name);
  }
  return WithReason(UnknownNameError("accelerator", name, Names(), "docs/accelerators.md"),
                    "GPU_UNKNOWN");
}

const Accelerator* AcceleratorReportedAs(absl::string_view reported) {
  if (const Accelerator* found = AcceleratorNamed(reported); found != nullptr) return found;
  reported = WithoutVendor(reported);
  const auto& index = ByReportedName();
  const auto it = index.find(ComparableName(reported));
  return it == index.end() ? AcceleratorNamed(reported) : it->second;
}

}  // namespace sextant
