#include "gpu_probe/cuda/attention/cudnn_descriptor.h"

#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gpu_probe/cuda/attention/cudnn_numbers.h"

namespace sextant {
namespace {

constexpr std::size_t kShownErrorLength = 300;

// What the library says of its last error, on one line.
std::string LastErrorOf(const Cudnn& cudnn) {
  std::array<char, 4096> text = {};
  cudnn.last_error(text.data(), text.size() - 1);
  return absl::StrReplaceAll(absl::string_view(text.data()).substr(0, kShownErrorLength),
                             {{"\n", " "}});
}

}  // namespace

absl::Status CudnnStatus(const Cudnn& cudnn, int code, absl::string_view call) {
  if (code == 0) return absl::OkStatus();
  const std::string message = absl::StrCat(call, " of cuDNN ", cudnn.version, " failed with ", code,
                                           ": ", LastErrorOf(cudnn));
  return code / 1000 * 1000 == cudnn::kNotSupported ? absl::UnimplementedError(message)
                                                    : absl::InternalError(message);
}

CudnnDescriptor::CudnnDescriptor(SharedCudnn cudnn, int kind) : cudnn_(std::move(cudnn)) {
  Note(cudnn_->descriptor_create(kind, &object_), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(cudnn_, other.cudnn_);
  std::swap(object_, other.object_);
  std::swap(status_, other.status_);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (object_ != nullptr) (void)cudnn_->descriptor_destroy(object_);
}

void CudnnDescriptor::Note(int code, absl::string_view call) {
  if (code != 0 && status_.ok()) status_ = CudnnStatus(*cudnn_, code, call);
}

CudnnDescriptor& CudnnDescriptor::Set(int attribute, int type, int64_t count,
                                      const void* elements) {
  if (!status_.ok()) return *this;
  Note(cudnn_->descriptor_set(object_, attribute, type, count, elements),
       absl::StrCat("cudnnBackendSetAttribute of ", attribute));
  return *this;
}

CudnnDescriptor& CudnnDescriptor::SetEnum(int attribute, int type, int value) {
  return Set(attribute, type, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::SetBool(int attribute, bool value) {
  return Set(attribute, cudnn::kOfBool, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::SetInt64s(int attribute, absl::Span<const int64_t> values) {
  return Set(attribute, cudnn::kOfInt64, static_cast<int64_t>(values.size()), values.data());
}

CudnnDescriptor& CudnnDescriptor::SetDescriptor(int attribute, void* value) {
  return Set(attribute, cudnn::kOfDescriptor, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::SetHandle(int attribute, void* value) {
  return Set(attribute, cudnn::kOfHandle, 1, &value);
}

absl::Status CudnnDescriptor::Finalize() {
  if (!status_.ok()) return status_;
  return CudnnStatus(*cudnn_, cudnn_->descriptor_finalize(object_), "cudnnBackendFinalize");
}

}  // namespace sextant
