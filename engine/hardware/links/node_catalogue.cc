// The node types that Sextant knows by name, in the units that vendors print.
#include "engine/hardware/links/node_type.h"

namespace sextant {
namespace {

constexpr char kNetworkTable[] = "stas00/ml-engineering network/README.md @0030e63f5275";
constexpr char kBasePod[] = "docs.nvidia.com, DGX BasePOD reference architecture, core components";
constexpr char kGb200Guide[] = "docs.nvidia.com, DGX GB200 user guide, hardware";
constexpr char kGb300Guide[] =
    "docs.nvidia.com, enterprise reference architecture, NVL72 AI factory";
constexpr char kDgxA100Cards[] = "NVIDIA/nccl issue 812: a maintainer's DGX A100, 8 x 200 Gb/s";
constexpr char kPcieLane[] =
    "8, 16 or 32 GT/s x 16 lanes x 128 / 130 / 8; "
    "stas00/ml-engineering network/README.md rounds the last two to 31 and 63 GB/s";
constexpr char kMlperfMi300x[] =
    "mlcommons/inference_results_v4.1, 8xMI300X_2xEPYC-9374F: 8 a server, PCIe Gen5 x16";
constexpr char kTorchtitan[] = "pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md";
constexpr char kMlperfH200[] = "mlcommons/inference_results_v4.1, H200-SXM-141GBx8: PCIe Gen5 x16";

constexpr LinkDatum Read(double value, absl::string_view source) { return {value, source, true}; }
constexpr LinkDatum Recalled(double value) { return {value, "", true}; }

constexpr double kGiga = 1e9;
constexpr double kGigabitRate = 1e9 / 8;
constexpr double kPcie3 = 15.75 * kGiga;
constexpr double kPcie4 = 31.5 * kGiga;
constexpr double kPcie5 = 63 * kGiga;

// Memory of a server's processors: sockets x channels x transfers a second x 8 bytes.
constexpr double MemoryRate(int sockets, int channels, double transfers) {
  return sockets * channels * transfers * 8;
}
constexpr char kDgxA100Memory[] =
    "2 x EPYC 7742 (microway.com, DGX A100 review), 8 channels of DDR4-3200 each (AMD's datasheet, "
    "from memory)";
constexpr char kDgxH100Memory[] =
    "2 x Xeon 8480C (docs.nvidia.com, DGX user guide, from memory), 8 channels of DDR5-4800 each; "
    "with two modules a channel 4400 (ai-hpc.org, STREAM guide)";
constexpr char kDgxB200Memory[] =
    "2 x Xeon 8570, 8 channels of DDR5-5600 each (Intel's datasheet, from memory)";
constexpr char kGraceMemory[] =
    "36 Grace, 512 GB/s of LPDDR5X each (NVIDIA's datasheet, from memory)";

constexpr double kTera = 1e12;

// Memory of a server's processors, as printed: 32 modules of 64 GB of 2^30 bytes are a little more.
// In the order of the accelerators.
constexpr LinkDatum kDgxA100HostMemory[] = {
    Read(1 * kTera, "NVIDIA's DGX A100 datasheet, the system of 320 GB, from memory"),
    Read(2 * kTera, "NVIDIA's DGX A100 datasheet, the system of 640 GB, from memory")};
constexpr LinkDatum kDgxH100HostMemory[] = {
    Read(2 * kTera, "docs.nvidia.com, DGX H100/H200 user guide, 32 modules, from memory")};
constexpr LinkDatum kDgxB200HostMemory[] = {
    Read(2 * kTera, "docs.nvidia.com, DGX B200 user guide, 32 modules; upgradable to 4 TB")};
// A tray of the rack has an operating system of its own: 2 Grace and 4 devices.
constexpr int64_t kTrayDevices = 4;
constexpr LinkDatum kGraceTrayHostMemory[] = {
    Read(2 * 480 * kGiga,
         "2 Grace of a tray, 480 GB of LPDDR5X each (NVIDIA's datasheet, from "
         "memory)")};

constexpr absl::string_view kA100[] = {"a100-sxm-40", "a100-sxm-80"};
constexpr absl::string_view kA800[] = {"a800-sxm-80"};
constexpr absl::string_view kH100At500W[] = {"h100-96-hbm2e-500w"};
constexpr absl::string_view kMi300x[] = {"mi300x"};
constexpr absl::string_view kRtx4090[] = {"rtx-4090"};
constexpr absl::string_view kH100[] = {"h100-sxm"};
constexpr absl::string_view kH800[] = {"h800-sxm"};
constexpr absl::string_view kH20[] = {"h20", "h20-141"};
constexpr absl::string_view kH200[] = {"h200-sxm"};
constexpr absl::string_view kGh200[] = {"gh200-96", "gh200-144"};
constexpr absl::string_view kB200[] = {"b200-sxm"};
constexpr absl::string_view kB300[] = {"b300-sxm"};
constexpr absl::string_view kGb200[] = {"gb200"};
constexpr absl::string_view kGb300[] = {"gb300"};
constexpr absl::string_view kPcie3Cards[] = {"v100-pcie", "t4"};
constexpr absl::string_view kPcie4Cards[] = {"a100-pcie-40", "a100-pcie-80", "a800-pcie-80", "a10",
                                             "l40s",         "l40",          "l20",          "l4",
                                             "rtx-6000-ada", "rtx-a6000",    "rtx-3090"};
constexpr absl::string_view kL40s[] = {"l40s"};
constexpr absl::string_view kPcie5Cards[] = {"h100-pcie", "h100-nvl", "h200-nvl", "rtx-pro-6000"};
constexpr absl::string_view kRtxPro6000[] = {"rtx-pro-6000"};

constexpr char kNoNetwork[] = "a board: whoever builds the server chooses the network";
constexpr char kGeneric[] =
    "whatever stands between the cards (switches, two sockets) is not known";
constexpr char kAnyCount[] = "not a product: as many as most servers take";

// clang-format off
constexpr NodeType kNodeTypes[] = {
    {.name = "dgx-a100", .product_name = "NVIDIA DGX A100", .accelerators = kA100,
      .collectives = "a100-sxm-80", .link = "NVLink 3 through NVSwitch",
      .device_count = 8, .device_count_source = kDgxA100Cards,
      .link_rate = Read(300 * kGiga, kNetworkTable), .host_rate = Recalled(kPcie4),
      .host_memory_rate = Read(MemoryRate(2, 8, 3200e6), kDgxA100Memory),
      .host_memory = kDgxA100HostMemory,
      .network_rate = Read(200 * kGigabitRate, kDgxA100Cards)},
    {.name = "hgx-a100", .product_name = "NVIDIA HGX A100 8-GPU", .accelerators = kA100,
      .collectives = "a100-sxm-80", .link = "NVLink 3 through NVSwitch",
      .device_count = 8, .device_count_source = "",
      .link_rate = Read(300 * kGiga, kNetworkTable), .host_rate = Recalled(kPcie4),
      .notes = kNoNetwork},
    {.name = "hgx-a800", .product_name = "NVIDIA HGX A800 8-GPU", .accelerators = kA800,
      .link = "NVLink 3 through NVSwitch, 8 of 12 links",
      .device_count = 8, .device_count_source = "",
      .link_rate = Recalled(200 * kGiga), .host_rate = Recalled(kPcie4),
      .notes = kNoNetwork},
    {.name = "dgx-h100", .product_name = "NVIDIA DGX H100", .accelerators = kH100,
      .collectives = "h100-sxm", .link = "NVLink 4 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = kBasePod,
      .link_rate = Read(450 * kGiga, kNetworkTable), .host_rate = Read(kPcie5, kBasePod),
      .host_memory_rate = Read(MemoryRate(2, 8, 4800e6), kDgxH100Memory),
      .host_memory = kDgxH100HostMemory,
      .network_rate = Read(400 * kGigabitRate, kBasePod)},
    {.name = "hgx-h100", .product_name = "NVIDIA HGX H100 8-GPU", .accelerators = kH100,
      .collectives = "h100-sxm", .link = "NVLink 4 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = "",
      .link_rate = Read(450 * kGiga, kNetworkTable), .host_rate = Recalled(kPcie5),
      .notes = kNoNetwork},
    {.name = "grand-teton-h100", .product_name = "Meta Grand Teton with H100 of 500 W",
      .accelerators = kH100At500W, .link = "NVLink 4 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = kTorchtitan,
      .link_rate = Read(450 * kGiga, kNetworkTable), .host_rate = Recalled(kPcie5),
      .network_rate = Read(400 * kGigabitRate, kTorchtitan)},
    {.name = "hgx-h800", .product_name = "NVIDIA HGX H800 8-GPU", .accelerators = kH800,
      .link = "NVLink 4 through NVSwitch, 8 of 18 links", .switch_reduces = true,
      .device_count = 8, .device_count_source = "",
      .link_rate = Recalled(200 * kGiga), .host_rate = Recalled(kPcie5),
      .notes = kNoNetwork},
    {.name = "hgx-h20", .product_name = "NVIDIA HGX H20 8-GPU", .accelerators = kH20,
      .link = "NVLink 4 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = "",
      .link_rate = Recalled(450 * kGiga), .host_rate = Recalled(kPcie5),
      .notes = kNoNetwork},
    {.name = "dgx-h200", .product_name = "NVIDIA DGX H200", .accelerators = kH200,
      .collectives = "h200-sxm", .link = "NVLink 4 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = kBasePod,
      .link_rate = Read(450 * kGiga, kNetworkTable), .host_rate = Read(kPcie5, kMlperfH200),
      .host_memory_rate = Read(MemoryRate(2, 8, 4800e6), kDgxH100Memory),
      .host_memory = kDgxH100HostMemory,
      .network_rate = Read(400 * kGigabitRate, kBasePod)},
    {.name = "hgx-h200", .product_name = "NVIDIA HGX H200 8-GPU", .accelerators = kH200,
      .collectives = "h200-sxm", .link = "NVLink 4 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = kMlperfH200,
      .link_rate = Read(450 * kGiga, kNetworkTable), .host_rate = Read(kPcie5, kMlperfH200),
      .notes = kNoNetwork},
    {.name = "dgx-b200", .product_name = "NVIDIA DGX B200", .accelerators = kB200,
      .collectives = "b200-sxm", .link = "NVLink 5 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = kBasePod,
      .link_rate = Read(900 * kGiga, kNetworkTable), .host_rate = Recalled(kPcie5),
      .host_memory_rate = Read(MemoryRate(2, 8, 5600e6), kDgxB200Memory),
      .host_memory = kDgxB200HostMemory,
      .network_rate = Read(400 * kGigabitRate, kBasePod)},
    {.name = "hgx-b200", .product_name = "NVIDIA HGX B200 8-GPU", .accelerators = kB200,
      .collectives = "b200-sxm", .link = "NVLink 5 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = "",
      .link_rate = Read(900 * kGiga, kNetworkTable), .host_rate = Recalled(kPcie5),
      .notes = kNoNetwork},
    {.name = "hgx-b300", .product_name = "NVIDIA HGX B300 8-GPU", .accelerators = kB300,
      .collectives = "b300-sxm", .link = "NVLink 5 through NVSwitch", .switch_reduces = true,
      .device_count = 8, .device_count_source = "",
      .link_rate = Read(900 * kGiga, kNetworkTable),
      .notes = kNoNetwork},
    {.name = "gb200-nvl72", .product_name = "NVIDIA GB200 NVL72", .accelerators = kGb200,
      .collectives = "gb200", .link = "NVLink 5 through NVLink Switch trays",
      .switch_reduces = true,
      .device_count = 72, .device_count_source = kGb200Guide,
      .link_rate = Read(900 * kGiga, kNetworkTable),
      .host_memory_rate = Read(36 * 512 * kGiga, kGraceMemory),
      .host_memory = kGraceTrayHostMemory, .host_device_count = kTrayDevices,
      .network_rate = Recalled(400 * kGigabitRate),
      .notes = "the rack is the node; published collectives are of one tray, 4 devices"},
    {.name = "gb300-nvl72", .product_name = "NVIDIA GB300 NVL72", .accelerators = kGb300,
      .collectives = "gb300", .link = "NVLink 5 through NVLink Switch trays",
      .switch_reduces = true,
      .device_count = 72, .device_count_source = kGb300Guide,
      .link_rate = Read(900 * kGiga, kNetworkTable),
      .host_memory_rate = Read(36 * 512 * kGiga, kGraceMemory),
      .host_memory = kGraceTrayHostMemory, .host_device_count = kTrayDevices,
      .network_rate = Recalled(800 * kGigabitRate),
      .notes = "the rack is the node; published collectives are of one tray, 4 devices"},
    {.name = "gh200", .product_name = "NVIDIA GH200 server", .accelerators = kGh200,
      .link = "NVLink-C2C to its Grace; none to another device",
      .device_count = 1, .device_count_source = "",
      .link_rate = Recalled(450 * kGiga), .host_rate = Recalled(450 * kGiga),
      .notes = kNoNetwork},
    {.name = "mi300x-platform", .product_name = "AMD Instinct MI300X Platform",
      .accelerators = kMi300x, .link = "Infinity Fabric, one link to each other device",
      .device_count = 8, .device_count_source = kMlperfMi300x,
      .link_rate = Read(7 * 64 * kGiga, kNetworkTable), .host_rate = Read(kPcie5, kMlperfMi300x),
      .notes = "the link is the sum of 7: two devices alone have 64 GB/s between them"},
    {.name = "pcie-gen4-rtx-4090", .product_name = "server with RTX 4090 on PCIe 4",
      .accelerators = kRtx4090, .link = "PCIe 4 x16",
      .device_count = 8, .device_count_source = kAnyCount,
      .link_rate = Read(kPcie4, kPcieLane), .host_rate = Read(kPcie4, kPcieLane),
      .notes = kGeneric},
    {.name = "pcie-gen4-l40s", .product_name = "server with L40S on PCIe 4", .accelerators = kL40s,
      .collectives = "l40s", .link = "PCIe 4 x16",
      .device_count = 8, .device_count_source = kAnyCount,
      .link_rate = Read(kPcie4, kPcieLane), .host_rate = Read(kPcie4, kPcieLane),
      .notes = kGeneric},
    {.name = "pcie-gen5-rtx-pro-6000", .product_name = "server with RTX PRO 6000 on PCIe 5",
      .accelerators = kRtxPro6000,
      .collectives = "rtx-pro-6000", .link = "PCIe 5 x16",
      .device_count = 8, .device_count_source = kAnyCount,
      .link_rate = Read(kPcie5, kPcieLane), .host_rate = Read(kPcie5, kPcieLane),
      .notes = kGeneric},
    {.name = "pcie-gen3", .product_name = "server with cards on PCIe 3",
      .accelerators = kPcie3Cards, .link = "PCIe 3 x16",
      .device_count = 8, .device_count_source = kAnyCount,
      .link_rate = Read(kPcie3, kPcieLane), .host_rate = Read(kPcie3, kPcieLane),
      .notes = kGeneric},
    {.name = "pcie-gen4", .product_name = "server with cards on PCIe 4",
      .accelerators = kPcie4Cards, .link = "PCIe 4 x16",
      .device_count = 8, .device_count_source = kAnyCount,
      .link_rate = Read(kPcie4, kPcieLane), .host_rate = Read(kPcie4, kPcieLane),
      .notes = kGeneric},
    {.name = "pcie-gen5", .product_name = "server with cards on PCIe 5",
      .accelerators = kPcie5Cards, .link = "PCIe 5 x16",
      .device_count = 8, .device_count_source = kAnyCount,
      .link_rate = Read(kPcie5, kPcieLane), .host_rate = Read(kPcie5, kPcieLane),
      .notes = kGeneric},
};
// clang-format on

}  // namespace

absl::Span<const NodeType> NodeTypes() { return kNodeTypes; }

}  // namespace sextant
