// One copy between the host's memory and a GPU's, timed.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPY_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPY_WORKLOAD_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_check.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/memory/host_buffer.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

struct HostCopy {
  v1::HostCopyMeasurement::Direction direction = v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE;
  bool pageable = false;
  int64_t size_bytes = 0;
};

// What all copies share: random bits on the GPU, the same on the host, and room on the GPU.
struct HostCopyBuffers {
  DeviceMemory source = {};
  DeviceMemory target = {};
  HostBuffer pinned = {};  // each is empty before NeedHostMemory()
  HostBuffer pageable = {};
  GpuCheck check;

  // Errors: DeviceMemory::Allocate()'s and GpuSession::Launch()'s.
  static absl::StatusOr<std::shared_ptr<HostCopyBuffers>> Create(int64_t size_bytes,
                                                                 const SharedSession& session);
  // Makes the host's memory of that kind, of `size_bytes` at most source's, where it is not there.
  //
  // Errors: HostBuffer::Create()'s and GpuSession::CopyToHost()'s.
  absl::Status NeedHostMemory(bool is_pageable, int64_t size_bytes, const SharedSession& session);
  const HostBuffer& host(bool is_pageable) const { return is_pageable ? pageable : pinned; }
};

// Copies of pageable memory keep the host busy until they are nearly done, so that nothing but
// themselves can be recorded.
class HostCopyWorkload : public GpuWorkload {
 public:
  // `buffers` must have the host's memory of that kind, and at least copy.size_bytes of all.
  HostCopyWorkload(const HostCopy& copy, std::shared_ptr<HostCopyBuffers> buffers,
                   const SharedSession& session)
      : GpuWorkload(session, copy.pageable ? HostPart::kBlocks : HostPart::kRecords),
        copy_(copy),
        buffers_(std::move(buffers)) {}

  void Poison() override;
  // Compares every byte on the GPU; what arrived at the host is copied back for that.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;
  bool to_device() const {
    return copy_.direction == v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE;
  }
  absl::Status PoisonTarget();

  const HostCopy copy_;
  const std::shared_ptr<HostCopyBuffers> buffers_;
  absl::Status poisoned_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPY_WORKLOAD_H_
