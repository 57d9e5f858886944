// Memory of the host that a GPU copies from and to.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_BUFFER_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_BUFFER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

class HostBuffer {
 public:
  // Pageable memory as every program gets it, or pinned memory, which stays where it is and which
  // the GPU reads by itself. On the GPU's NUMA node where that can be had. Every page of it is
  // there on return.
  //
  // Errors: kResourceExhausted; CudaStatus()'s.
  static absl::StatusOr<HostBuffer> Create(bool pageable, int64_t size_bytes,
                                           const SharedSession& session);
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept { *this = std::move(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  unsigned char* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }

 private:
  SharedSession session_;
  bool pageable_ = false;
  unsigned char* data_ = nullptr;
  int64_t size_bytes_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_BUFFER_H_
