// Copies between the host's memory and a GPU's, timed.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPIES_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPIES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// The host's memory should be on the GPU's NUMA node: copies from other nodes cross the link
// between processors.
inline constexpr char kPciDevicesFolder[] = "/sys/bus/pci/devices";

// The node of the device at `pci_bus_id`, e.g. "0000:19:00.0"; absent where the system does not
// report it, as with one node or in many virtual machines.
absl::optional<int> NumaNodeOf(const std::string& pci_bus_id,
                               const std::string& folder = kPciDevicesFolder);

// While it lives, new pages of this thread are allocated on `node` while that has free ones. That
// includes a driver's allocations, since the calling thread serves them. Does nothing where `node`
// is absent, or where the system does not let a process choose (as in some containers).
class PreferNode {
 public:
  explicit PreferNode(absl::optional<int> node);
  ~PreferNode();
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

 private:
  // One bit a node, as in the system's call; more bits than any kernel supports nodes.
  using NodeMask = std::array<unsigned long, 16>;

  bool active_ = false;
  int mode_before_ = 0;
  NodeMask nodes_before_ = {};
};

// Host memory for copies to and from a GPU; frees itself.
using HostMemory = std::unique_ptr<unsigned char[], std::function<void(unsigned char*)>>;

// Allocates pageable memory as ordinary programs use it, or pinned memory, which is never moved and
// which the GPU reads directly; on the GPU's NUMA node where possible. All its pages are present on
// return.
//
// Errors: kResourceExhausted; CudaStatus()'s.
absl::StatusOr<HostMemory> AllocateOnHost(bool pageable, int64_t size_bytes,
                                          const SharedSession& session);

struct HostCopy {
  v1::HostCopyMeasurement::Direction direction = v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE;
  bool pageable = false;
  int64_t size_bytes = 0;

  bool to_device() const { return direction == v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE; }
};

// Buffers that all copies share: random bits on the GPU and on the host, and a target on the GPU.
struct HostCopyBuffers {
  DeviceMemory source = {};
  DeviceMemory target = {};
  HostMemory pinned = {};  // each is null before NeedHostMemory()
  HostMemory pageable = {};
  GpuCheck check = {};

  // Errors: DeviceMemory::Allocate()'s and GpuSession::Launch()'s.
  static absl::StatusOr<std::shared_ptr<HostCopyBuffers>> Create(int64_t size_bytes,
                                                                 const SharedSession& session);
  // Allocates the host's memory of that kind, of `size_bytes`, at most source's size, where it is
  // missing.
  //
  // Errors: AllocateOnHost()'s and GpuSession::CopyToHost()'s.
  absl::Status NeedHostMemory(bool is_pageable, int64_t size_bytes, const SharedSession& session);
  unsigned char* host(bool is_pageable) const {
    return is_pageable ? pageable.get() : pinned.get();
  }
};

// One copy, timed; its check compares every byte on the GPU, and copies back first what arrived at
// the host. `buffers` must have the host's memory of that kind, and all of its buffers at least
// copy.size_bytes. Copies of pageable memory keep the host busy until they are nearly done, so they
// can't be recorded.
std::unique_ptr<Workload> HostCopyWorkload(const HostCopy& copy,
                                           std::shared_ptr<HostCopyBuffers> buffers,
                                           const SharedSession& session);

// Copies in both directions. QUICK: 64 MiB of pinned memory. Otherwise sizes from 64 KiB to 256 MiB
// of pinned and of pageable memory, more of them in FULL. Sizes that don't fit twice into the GPU
// memory that the probe may use are left out, with a note.
std::vector<Point> HostCopyPoints(v1::ProbeMode mode, const SharedSession& session);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPIES_H_
