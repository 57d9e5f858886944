#include "engine/hardware/links/usual_nodes.h"

namespace sextant {
namespace {

struct UsualNetwork {
  absl::string_view node_type;
  absl::string_view network;
};

// A DGX has the adapters of its datasheet, one a device. An HGX board is mostly built into servers
// with as many adapters as the DGX of its generation has. Servers of PCIe cards come with any
// network, and have no row.
constexpr UsualNetwork kUsualNetworks[] = {
    // NVIDIA/nccl issue 812: a maintainer's DGX A100, 8 x 200 Gb/s.
    {"dgx-a100", "ib-hdr"},
    {"hgx-a100", "ib-hdr"},
    // The A100's generation. From memory: DGX A800 datasheet, ConnectX at 200 Gb/s.
    {"hgx-a800", "ib-hdr"},
    // docs.nvidia.com, DGX BasePOD reference architecture, core components: 400 Gb/s a device.
    {"dgx-h100", "ib-ndr"},
    {"hgx-h100", "ib-ndr"},
    // From memory: DeepSeek-V3's servers (arXiv 2412.19437 and 2505.09343), 400 Gb/s a device.
    {"hgx-h800", "ib-ndr"},
    // The H800's successor in the same servers, from memory.
    {"hgx-h20", "ib-ndr"},
    // pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md: RDMA of 400 Gb/s a device.
    // From memory: the larger of Meta's two such clusters is RoCE (arXiv 2407.21783, section 3.3).
    {"grand-teton-h100", "roce-400"},
    // mlcommons/inference_results_v4.1, H200-SXM-141GBx8: InfiniBand of 400 Gb/s.
    {"dgx-h200", "ib-ndr"},
    {"hgx-h200", "ib-ndr"},
    // docs.nvidia.com, DGX BasePOD reference architecture, core components.
    {"dgx-b200", "ib-ndr"},
    {"hgx-b200", "ib-ndr"},
    // From memory: DGX B300 datasheet, 8 ConnectX-8 of 800 Gb/s.
    {"hgx-b300", "ib-xdr"},
    // From memory: DGX GB200 datasheet, a ConnectX-7 a device.
    {"gb200-nvl72", "ib-ndr"},
    // docs.nvidia.com, enterprise reference architecture, NVL72 AI factory: 4 ConnectX-8 a tray of
    // 4 devices; 800 Gb/s each, from memory.
    {"gb300-nvl72", "ib-xdr"},
    // rocm.docs.amd.com, vLLM distributed inference with MoRI: 8 ConnectX-7 of a server of 8
    // MI300X, each joined to a device. From memory: 400 Gb/s each, Ethernet at AMD's partners.
    {"mi300x-platform", "roce-400"},
};

}  // namespace

const NodeType* UsualNodeOf(absl::string_view accelerator) {
  for (const NodeType& node : NodeTypes()) {
    if (Holds(node, accelerator)) return &node;
  }
  return nullptr;
}

const NamedNetwork* UsualNetworkOf(const NodeType& node) {
  for (const UsualNetwork& row : kUsualNetworks) {
    if (row.node_type == node.name) return *FindNetwork(row.network);
  }
  return nullptr;
}

}  // namespace sextant
