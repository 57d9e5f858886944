#include "gpu_probe/cuda/memory/host_buffer.h"

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/memory/near_memory.h"

namespace sextant {

absl::StatusOr<HostBuffer> HostBuffer::Create(bool pageable, int64_t size_bytes,
                                              const SharedSession& session) {
  const PreferNode near(NumaNodeOf(session->device().pci_bus_id()));
  const size_t size = static_cast<size_t>(size_bytes);
  HostBuffer buffer;
  buffer.pageable_ = pageable;
  buffer.size_bytes_ = size_bytes;
  if (pageable) {
    buffer.data_ = new (std::nothrow) unsigned char[size];
    if (buffer.data_ == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the host has not ", size_bytes, " bytes of memory to copy from"));
    }
  } else {
    void* pinned = nullptr;
    SEXTANT_RETURN_IF_ERROR(
        CudaStatus(session->driver().pin_host(&pinned, size, cuda::kPlainHostMemory),
                   absl::StrCat("cuMemHostAlloc of ", size_bytes, " bytes")));
    buffer.data_ = static_cast<unsigned char*>(pinned);
  }
  buffer.session_ = session;
  std::memset(buffer.data_, 0, size);
  return buffer;
}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(session_, other.session_);
  std::swap(pageable_, other.pageable_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (data_ == nullptr) return;
  if (pageable_) {
    delete[] data_;
  } else {
    (void)session_->driver().free_host(data_);
  }
}

}  // namespace sextant
