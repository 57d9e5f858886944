// One object of cuDNN's backend interface: made, given its attributes, finished, dropped.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_DESCRIPTOR_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_DESCRIPTOR_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_probe/cuda/cuda_libraries.h"

namespace sextant {

using SharedCudnn = std::shared_ptr<const Cudnn>;

// OK for 0. Otherwise a status that names `call`, the code and what the library says of it:
//   kUnimplemented  3000 to 3999: it does not do that, on that GPU or at all
//   kInternal       all others
absl::Status CudnnStatus(const Cudnn& cudnn, int code, absl::string_view call);

class CudnnDescriptor {
 public:
  // Of a `kind` of cudnn_numbers.h. What fails is told by Finalize().
  CudnnDescriptor(SharedCudnn cudnn, int kind);
  CudnnDescriptor() = default;
  CudnnDescriptor(CudnnDescriptor&& other) noexcept { *this = std::move(other); }
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  // Sets `attribute` to elements of `type`.
  CudnnDescriptor& Set(int attribute, int type, int64_t count, const void* elements);
  // ... of one of cuDNN's enumerations.
  CudnnDescriptor& SetEnum(int attribute, int type, int value);
  CudnnDescriptor& SetBool(int attribute, bool value);
  CudnnDescriptor& SetInt64s(int attribute, absl::Span<const int64_t> values);
  CudnnDescriptor& SetDescriptor(int attribute, void* value);
  CudnnDescriptor& SetHandle(int attribute, void* value);

  // Errors: CudnnStatus()'s, of the first call that failed.
  absl::Status Finalize();

  // The library's object; null where there is none.
  void* get() const { return object_; }
  const SharedCudnn& cudnn() const { return cudnn_; }

 private:
  void Note(int code, absl::string_view call);

  SharedCudnn cudnn_;
  void* object_ = nullptr;
  absl::Status status_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_DESCRIPTOR_H_
