// Matrix multiplication by oneDNN, loaded by name at run time. The parts of its C API that the
// probe uses are declared here, so that building the probe does not need oneDNN.
#ifndef SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_
#define SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/host_facts.h"

namespace sextant::probe {

// oneDNN's types in binary form. Objects of the library are void*, and so are pointers to version
// 2's structures. Source: oneapi/dnnl/dnnl.h and dnnl_types.h of 2.6 and 3.7.
namespace onednn {

using Status = int;  // 0: success
using Deleter = Status (*)(void* object);
using Object = std::unique_ptr<void, Deleter>;

struct Argument {
  int index = 0;
  void* memory = nullptr;
};

inline constexpr int kBf16 = 2;
inline constexpr int kF32 = 3;
inline constexpr int kS32 = 4;
inline constexpr int kS8 = 5;
inline constexpr int kU8 = 6;

}  // namespace onednn

// The functions that versions 2 and 3 share.
struct OnednnFunctions {
  onednn::Status (*engine_create)(void** engine, int kind, size_t index) = nullptr;
  onednn::Deleter engine_destroy = nullptr;
  onednn::Status (*stream_create)(void** stream, void* engine, unsigned flags) = nullptr;
  onednn::Status (*stream_wait)(void* stream) = nullptr;
  onednn::Deleter stream_destroy = nullptr;
  onednn::Status (*memory_create)(void** memory, const void* descriptor, void* engine,
                                  void* data) = nullptr;
  onednn::Status (*memory_set_data_handle)(void* memory, void* data) = nullptr;
  onednn::Deleter memory_destroy = nullptr;
  onednn::Deleter primitive_desc_destroy = nullptr;
  onednn::Status (*primitive_desc_query)(const void* descriptor, int what, int index,
                                         void* result) = nullptr;
  onednn::Status (*primitive_create)(void** primitive, const void* descriptor) = nullptr;
  onednn::Status (*primitive_execute)(const void* primitive, void* stream, int argument_count,
                                      const onednn::Argument* arguments) = nullptr;
  onednn::Deleter primitive_destroy = nullptr;
};

// A loaded library. Never unloaded: its threads can't be ended.
class OnednnLibrary {
 public:
  // Loads `path`, or, where it is empty, the system's oneDNN of version 2, else of version 3. Sets
  // its environment variables so that it uses a thread for each of `cores`, bound to them where
  // they are pinned, computes FP32 in FP32, and writes no log.
  //
  // Errors: kNotFound where there is none; kFailedPrecondition where it is not oneDNN 2 or 3.
  static absl::StatusOr<OnednnLibrary> Load(const std::string& path, const CoreSet& cores);

  int major_version() const { return major_version_; }
  // "2.6.3"
  const std::string& version() const { return version_; }
  const OnednnFunctions& functions() const { return functions_; }

  // Finds the function `name`, for functions that differ between versions.
  //
  // Errors: kFailedPrecondition where the library does not have it.
  template <typename Function>
  absl::Status Find(const char* name, Function* out) const {
    return FindAny(name, reinterpret_cast<void**>(out));
  }

 private:
  OnednnLibrary() = default;

  absl::Status FindAny(const char* name, void** out) const;
  absl::Status FindAll();
  absl::Status ReadVersion();

  void* handle_ = nullptr;
  std::string path_;
  int major_version_ = 0;
  std::string version_;
  OnednnFunctions functions_;
};

// OK for 0, otherwise kInternal naming the call and oneDNN's name of the status; kUnimplemented and
// kResourceExhausted for the two statuses that mean those.
absl::Status OnednnStatus(onednn::Status status, absl::string_view call);

class OnednnEngine : public MatmulEngine {
 public:
  // Errors: OnednnLibrary::Load()'s, and kInternal where the library refuses to start.
  static absl::StatusOr<std::unique_ptr<OnednnEngine>> Create(const std::string& path,
                                                              const CoreSet& cores);

  const std::string& name() const override { return name_; }
  absl::StatusOr<std::unique_ptr<PreparedMatmul>> Prepare(const v1::MatmulShape& shape) override;

 private:
  OnednnEngine(OnednnLibrary library, onednn::Object engine, onednn::Object stream);

  const OnednnLibrary library_;
  const std::string name_;
  const onednn::Object engine_;
  const onednn::Object stream_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_
