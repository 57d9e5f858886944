// Memory of the host on the NUMA node that a GPU hangs on: copies from other nodes cross the link
// between processors.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_NEAR_MEMORY_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_NEAR_MEMORY_H_

#include <array>
#include <string>

#include "absl/types/optional.h"

namespace sextant {

inline constexpr char kPciDevicesFolder[] = "/sys/bus/pci/devices";

// The node of the device at `pci_bus_id`, e.g. "0000:19:00.0"; absent where the system does not
// tell, as with one node or in many virtual machines.
absl::optional<int> NumaNodeOf(const std::string& pci_bus_id,
                               const std::string& folder = kPciDevicesFolder);

// While it lives, new pages of this thread are taken from `node` as far as that has any, whoever
// takes them: a driver's calls too, as they are served by the thread that makes them. Does nothing
// where `node` is absent, or the system does not let a process choose (as some containers).
class PreferNode {
 public:
  explicit PreferNode(absl::optional<int> node);
  ~PreferNode();
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

  bool active() const { return active_; }

 private:
  // A bit a node, as the system takes them; more than any kernel is built for.
  using NodeMask = std::array<unsigned long, 16>;

  bool active_ = false;
  int mode_before_ = 0;
  NodeMask nodes_before_ = {};
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_NEAR_MEMORY_H_
