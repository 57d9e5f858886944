#include "gpu_probe/cuda/memory/near_memory.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

constexpr int kPreferred = 1;  // MPOL_PREFERRED of linux/mempolicy.h
constexpr std::size_t kBitsOfWord = sizeof(unsigned long) * CHAR_BIT;

}  // namespace

absl::optional<int> NumaNodeOf(const std::string& pci_bus_id, const std::string& folder) {
  // The system writes hexadecimal digits small, CUDA large.
  std::ifstream file(absl::StrCat(folder, "/", absl::AsciiStrToLower(pci_bus_id), "/numa_node"));
  int node = -1;
  if (pci_bus_id.empty() || !(file >> node) || node < 0) return absl::nullopt;
  return node;
}

PreferNode::PreferNode(absl::optional<int> node) {
  NodeMask nodes = {};
  const std::size_t bit_count = nodes.size() * kBitsOfWord;
  if (!node || *node < 0 || static_cast<std::size_t>(*node) >= bit_count) return;
  const std::size_t bit = static_cast<std::size_t>(*node);
  nodes[bit / kBitsOfWord] = 1UL << bit % kBitsOfWord;
  if (syscall(SYS_get_mempolicy, &mode_before_, nodes_before_.data(), bit_count, nullptr, 0) != 0) {
    return;
  }
  active_ = syscall(SYS_set_mempolicy, kPreferred, nodes.data(), bit_count) == 0;
}

PreferNode::~PreferNode() {
  if (!active_) return;
  // What it was is allowed to be again.
  (void)syscall(SYS_set_mempolicy, mode_before_, nodes_before_.data(),
                nodes_before_.size() * kBitsOfWord);
}

}  // namespace sextant
