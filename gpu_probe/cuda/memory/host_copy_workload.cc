#include "gpu_probe/cuda/memory/host_copy_workload.h"

#include <cstring>
#include <utility>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/memory/element_check.h"
#include "gpu_probe/cuda/memory/grid.h"

namespace sextant {
namespace {

constexpr uint64_t kBitsSeed = uint64_t{6} << 40;
constexpr int64_t kBitsBytes = sizeof(uint64_t);
constexpr unsigned char kCopyPoison = 0xA5;

}  // namespace

absl::StatusOr<std::shared_ptr<HostCopyBuffers>> HostCopyBuffers::Create(
    int64_t size_bytes, const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(GpuCheck check, GpuCheck::Create(session));
  auto buffers = std::make_shared<HostCopyBuffers>(HostCopyBuffers{.check = std::move(check)});
  SEXTANT_ASSIGN_OR_RETURN(buffers->source, DeviceMemory::Allocate(session, size_bytes));
  SEXTANT_ASSIGN_OR_RETURN(buffers->target, DeviceMemory::Allocate(session, size_bytes));
  const int64_t count = size_bytes / kBitsBytes;
  SEXTANT_RETURN_IF_ERROR(session->Launch("fill_bits", GridOver(count, *session),
                                          buffers->source.address(), static_cast<uint64_t>(count),
                                          kBitsSeed));
  return buffers;
}

absl::Status HostCopyBuffers::NeedHostMemory(bool is_pageable, int64_t size_bytes,
                                             const SharedSession& session) {
  HostBuffer& buffer = is_pageable ? pageable : pinned;
  if (buffer.data() != nullptr) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(HostBuffer made, HostBuffer::Create(is_pageable, size_bytes, session));
  SEXTANT_RETURN_IF_ERROR(session->CopyToHost(made.data(), source.address(), size_bytes));
  buffer = std::move(made);
  return absl::OkStatus();
}

absl::Status HostCopyWorkload::PoisonTarget() {
  return session().Fill(buffers_->target.address(), kCopyPoison, copy_.size_bytes);
}

void HostCopyWorkload::Poison() {
  if (to_device()) {
    poisoned_ = PoisonTarget();
    return;
  }
  // No copy may still be on its way to where the poison goes.
  poisoned_ = session().Synchronize();
  std::memset(buffers_->host(copy_.pageable).data(), kCopyPoison,
              static_cast<size_t>(copy_.size_bytes));
}

absl::Status HostCopyWorkload::Enqueue() {
  void* const host = buffers_->host(copy_.pageable).data();
  const CudaDriver& cuda = session().driver();
  const size_t size = static_cast<size_t>(copy_.size_bytes);
  return to_device()
             ? CudaStatus(
                   cuda.to_device(buffers_->target.address(), host, size, session().stream()),
                   "cuMemcpyHtoDAsync_v2")
             : CudaStatus(cuda.to_host(host, buffers_->source.address(), size, session().stream()),
                          "cuMemcpyDtoHAsync_v2");
}

absl::Status HostCopyWorkload::Check() {
  SEXTANT_RETURN_IF_ERROR(poisoned_);
  if (!to_device()) {
    SEXTANT_RETURN_IF_ERROR(PoisonTarget());
    SEXTANT_RETURN_IF_ERROR(session().CopyToDevice(
        buffers_->target.address(), buffers_->host(copy_.pageable).data(), copy_.size_bytes));
  }
  const int64_t count = copy_.size_bytes / kBitsBytes;
  return AllRight(
      buffers_->check.Run("check_bits", GridOver(count, session()), buffers_->target.address(),
                          static_cast<uint64_t>(count), kBitsSeed),
      count, "8-byte word");
}

}  // namespace sextant
