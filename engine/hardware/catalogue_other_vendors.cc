#include "engine/hardware/catalogue_tables.h"

namespace sextant {
namespace {

using datasheet::Recall;
using datasheet::Rounded;
using datasheet::Table;

constexpr char kOtherVendorsTable[] =
    "stas00/ml-engineering compute/accelerator/README.md @744d01e18b79";
constexpr char kAcceleratorAndNetworkTables[] =
    "stas00/ml-engineering compute/accelerator/README.md @744d01e18b79; stas00/ml-engineering "
    "network/README.md";

// A row lists identity; memory; dense rates in 1e12 a second; links; the rest.
// clang-format off
constexpr DatasheetRow kOtherVendorsRows[] = {
    {.name = "mi210", .product_name = "Instinct MI210", .vendor = "AMD", .architecture = "CDNA2",
      .form_factor = "PCIe",
      .memory_gb = Recall(64), .memory_type = "HBM2e", .bandwidth_gb = Recall(1638),
      .fp64 = Recall(22.6), .fp64_matrix = Recall(45.3), .fp32 = Recall(22.6),
      .fp32_matrix = Recall(45.3),
      .fp16 = Recall(181), .bf16 = Recall(181), .int8 = Recall(181),
      .link_type = "xGMI bridge", .link_both_gb = Recall(300), .pcie = Recall(4),
      .cache_mb = Recall(8), .units = Recall(104), .boost_mhz = Recall(1700), .tdp = Recall(300)},
    {.name = "mi250", .product_name = "Instinct MI250", .vendor = "AMD", .architecture = "CDNA2",
      .form_factor = "OAM",
      .memory_gb = Table(128), .memory_type = "HBM2e", .bandwidth_gb = Table(3277),
      .fp64 = Recall(45.3), .fp64_matrix = Recall(90.5), .fp32 = Table(45.3),
      .fp32_matrix = Recall(90.5), .fp16 = Table(362),
      .bf16 = Table(362), .int8 = Table(362),
      .link_type = "xGMI", .link_gb = Table(350), .link_both_gb = Table(800), .pcie = Table(4),
      .cache_mb = Table(16), .units = Recall(208), .boost_mhz = Table(1700), .tdp = Table(560),
      .table_source = kOtherVendorsTable,
      .notes = "two GCDs; per-GCD = half"},
    {.name = "mi250x", .product_name = "Instinct MI250X", .vendor = "AMD",
      .architecture = "CDNA2", .form_factor = "OAM",
      .memory_gb = Table(128), .memory_type = "HBM2e", .bandwidth_gb = Table(3277),
      .fp64 = Recall(47.9), .fp64_matrix = Recall(95.7), .fp32 = Table(47.9),
      .fp32_matrix = Recall(95.7), .fp16 = Table(383),
      .bf16 = Table(383), .int8 = Table(383),
      .link_type = "xGMI", .link_gb = Table(350), .link_both_gb = Table(800), .pcie = Table(4),
      .cache_mb = Table(16), .units = Table(220), .boost_mhz = Table(1700), .tdp = Table(560),
      .table_source = kAcceleratorAndNetworkTables,
      .notes = "two GCDs; per-GCD = half"},
    {.name = "mi300a", .product_name = "Instinct MI300A", .vendor = "AMD",
      .architecture = "CDNA3", .form_factor = "APU",
      .memory_gb = Recall(128), .memory_type = "HBM3", .bandwidth_gb = Recall(5300),
      .fp64 = Recall(61.3), .fp64_matrix = Recall(122.6), .fp32 = Recall(122.6),
      .tf32 = Recall(490.3), .fp16 = Recall(980.6), .bf16 = Recall(980.6), .fp8 = Recall(1961.2),
      .int8 = Recall(1961.2),
      .link_type = "xGMI", .pcie = Recall(5),
      .cache_mb = Recall(256), .units = Recall(228), .boost_mhz = Recall(2100),
      .tdp = Recall(760),
      .notes = "l2_mb = Infinity Cache"},
    {.name = "mi300x", .product_name = "Instinct MI300X", .vendor = "AMD",
      .architecture = "CDNA3", .form_factor = "OAM",
      .memory_gb = Table(192), .memory_type = "HBM3", .bandwidth_gb = Table(5300),
      .fp64 = Recall(81.7), .fp64_matrix = Recall(163.4), .fp32 = Rounded(163.4),
      .tf32 = Rounded(653.7), .fp16 = Rounded(1307.4), .bf16 = Rounded(1307.4),
      .fp8 = Rounded(2614.9), .int8 = Rounded(2614.9),
      .link_type = "xGMI (7 links x 64)", .link_gb = Table(448), .link_both_gb = Table(896),
      .pcie = Table(5),
      .cache_mb = Table(256), .units = Table(304), .boost_mhz = Table(2100), .tdp = Table(750),
      .table_source = kAcceleratorAndNetworkTables,
      .notes = "l2_mb = Infinity Cache (L2 4 MB per XCD); the source table rounds to "
       "1300/2610/2600"},
    {.name = "mi325x", .product_name = "Instinct MI325X", .vendor = "AMD",
      .architecture = "CDNA3", .form_factor = "OAM",
      .memory_gb = Table(256), .memory_type = "HBM3e", .bandwidth_gb = Table(6000),
      .fp64 = Recall(81.7), .fp64_matrix = Recall(163.4), .fp32 = Rounded(163.4),
      .tf32 = Rounded(653.7), .fp16 = Rounded(1307.4), .bf16 = Rounded(1307.4),
      .fp8 = Rounded(2614.9), .int8 = Rounded(2614.9),
      .link_type = "xGMI (7 links x 64)", .link_gb = Table(448), .link_both_gb = Table(896),
      .pcie = Table(5),
      .cache_mb = Table(256), .units = Table(304), .boost_mhz = Table(2100), .tdp = Table(1000),
      .table_source = kAcceleratorAndNetworkTables},
    {.name = "mi350x", .product_name = "Instinct MI350X", .vendor = "AMD",
      .architecture = "CDNA4", .form_factor = "OAM",
      .memory_gb = Table(288), .memory_type = "HBM3e", .bandwidth_gb = Table(8000),
      .fp64 = Table(72.1), .fp64_matrix = Table(72.1), .fp32 = Table(144.2), .fp16 = Recall(2300),
      .bf16 = Recall(2300), .fp8 = Recall(4600), .int8 = Recall(4600), .fp6 = Recall(9200),
      .fp4 = Recall(9200),
      .link_type = "xGMI (7 links x 76.5)", .link_gb = Table(535.5), .link_both_gb = Table(1071),
      .pcie = Table(5),
      .cache_mb = Table(256), .units = Table(256), .boost_mhz = Table(2200), .tdp = Table(1000),
      .table_source = kAcceleratorAndNetworkTables},
    {.name = "mi355x", .product_name = "Instinct MI355X", .vendor = "AMD",
      .architecture = "CDNA4", .form_factor = "OAM",
      .memory_gb = Table(288), .memory_type = "HBM3e", .bandwidth_gb = Table(8000),
      .fp64 = Recall(78.6), .fp64_matrix = Recall(78.6), .fp32 = Rounded(157.3),
      .fp16 = Rounded(2516.6), .bf16 = Rounded(2516.6), .fp8 = Rounded(5033),
      .int8 = Rounded(5033), .fp6 = Rounded(10066), .fp4 = Rounded(10066),
      .link_type = "xGMI (7 links x 76.5)", .link_gb = Table(535.5), .link_both_gb = Table(1071),
      .pcie = Table(5),
      .cache_mb = Table(256), .units = Table(256), .boost_mhz = Table(2400), .tdp = Table(1400),
      .table_source = kAcceleratorAndNetworkTables,
      .notes = "the source table prints 2500/5000/10100"},
    {.name = "tpu-v4", .product_name = "TPU v4", .vendor = "Google",
      .memory_gb = Table(32), .memory_type = "HBM2", .bandwidth_gb = Table(1200),
      .bf16 = Table(275), .int8 = Table(275),
      .link_type = "ICI",
      .table_source = kOtherVendorsTable},
    {.name = "tpu-v5e", .product_name = "TPU v5e", .vendor = "Google",
      .memory_gb = Table(16), .memory_type = "HBM2", .bandwidth_gb = Table(820),
      .bf16 = Table(197), .int8 = Table(394),
      .link_type = "ICI",
      .table_source = kOtherVendorsTable},
    {.name = "tpu-v5p", .product_name = "TPU v5p", .vendor = "Google",
      .memory_gb = Table(95), .memory_type = "HBM2e", .bandwidth_gb = Table(2760),
      .bf16 = Table(459), .int8 = Table(918),
      .link_type = "ICI",
      .table_source = kOtherVendorsTable},
    {.name = "gaudi2", .product_name = "Gaudi2", .vendor = "Intel", .form_factor = "OAM",
      .memory_gb = Table(96), .memory_type = "HBM2e", .bandwidth_gb = Table(2460),
      .bf16 = Table(432), .fp8 = Table(865),
      .link_type = "RoCE", .link_gb = Table(300), .link_both_gb = Table(600), .pcie = Table(4),
      .boost_mhz = Table(1650), .tdp = Table(600),
      .table_source = kOtherVendorsTable},
    {.name = "gaudi3", .product_name = "Gaudi3", .vendor = "Intel", .form_factor = "OAM",
      .memory_gb = Table(128), .memory_type = "HBM2e", .bandwidth_gb = Table(3700),
      .fp32 = Table(229), .tf32 = Table(459), .fp16 = Table(459), .bf16 = Table(1677),
      .fp8 = Table(1677),
      .link_type = "RoCE", .link_gb = Table(600), .link_both_gb = Table(1200), .pcie = Table(5),
      .cache_mb = Table(96), .boost_mhz = Table(1600), .tdp = Table(900),
      .table_source = kOtherVendorsTable},
};
// clang-format on

}  // namespace

absl::Span<const DatasheetRow> OtherVendorsTable() { return kOtherVendorsRows; }

}  // namespace sextant
