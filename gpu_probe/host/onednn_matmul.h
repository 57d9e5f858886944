// Matrix multiplication by oneDNN, loaded by name at run time. The parts of its C API that the
// probe uses are declared here, so that building the probe does not need oneDNN.
#ifndef SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_
#define SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/host_facts.h"
#include "gpu_probe/shared_library.h"

namespace sextant::probe {

// oneDNN's types in binary form. Objects of the library are void*, and so are pointers to version
// 2's structures. Source: oneapi/dnnl/dnnl.h and dnnl_types.h of 2.6 and 3.7.
namespace onednn {

using Status = int;  // 0: success
using Deleter = std::function<Status(void* object)>;
using Object = std::unique_ptr<void, Deleter>;

// The first members of dnnl_version_t: the same in versions 2 and 3.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
};

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

// OK for 0, otherwise kInternal naming the call and oneDNN's name of the status; kUnimplemented and
// kResourceExhausted for the two statuses that mean those.
absl::Status OnednnStatus(onednn::Status status, absl::string_view call);

// A loaded library. Never unloaded: its threads can't be ended.
struct Onednn {
  template <typename... Arguments>
  using Function = LibraryFunction<OnednnStatus, Arguments...>;

  // Loads `path`, or, where it is empty, the system's oneDNN of version 2, else of version 3. Sets
  // its environment variables so that it uses a thread for each of `cores`, bound to them where
  // they are pinned, computes FP32 in FP32, and writes no log.
  //
  // Errors: kNotFound where there is none; kFailedPrecondition where it is not oneDNN 2 or 3.
  static absl::StatusOr<Onednn> Load(const std::string& path, const CoreSet& cores);

  LibrarySymbols symbols;

  // The functions that versions 2 and 3 share.
  std::function<const onednn::Version*()> get_version = symbols("dnnl_version");
  Function<void**, int, size_t> engine_create = symbols("dnnl_engine_create");
  Function<void*> engine_destroy = symbols("dnnl_engine_destroy");
  Function<void**, void*, unsigned> stream_create = symbols("dnnl_stream_create");
  Function<void*> stream_wait = symbols("dnnl_stream_wait");
  Function<void*> stream_destroy = symbols("dnnl_stream_destroy");
  Function<void**, const void*, void*, void*> memory_create = symbols("dnnl_memory_create");
  Function<void*, void*> memory_set_data_handle = symbols("dnnl_memory_set_data_handle");
  Function<void*> memory_destroy = symbols("dnnl_memory_destroy");
  Function<void*> primitive_desc_destroy = symbols("dnnl_primitive_desc_destroy");
  Function<const void*, int, int, void*> primitive_desc_query =
      symbols("dnnl_primitive_desc_query");
  Function<void**, const void*> primitive_create = symbols("dnnl_primitive_create");
  Function<const void*, void*, int, const onednn::Argument*> primitive_execute =
      symbols("dnnl_primitive_execute");
  Function<void*> primitive_destroy = symbols("dnnl_primitive_destroy");

  int major_version = 0;
  std::string version = {};  // "2.6.3"
};

class OnednnEngine : public MatmulEngine {
 public:
  // Errors: Onednn::Load()'s, and kInternal where the library refuses to start.
  static absl::StatusOr<std::unique_ptr<OnednnEngine>> Create(const std::string& path,
                                                              const CoreSet& cores);

  const std::string& name() const override { return name_; }
  absl::StatusOr<std::unique_ptr<PreparedMatmul>> Prepare(const v1::MatmulShape& shape) override;

 private:
  OnednnEngine(Onednn library, onednn::Object engine, onednn::Object stream);

  const Onednn library_;
  const std::string name_;
  const onednn::Object engine_;
  const onednn::Object stream_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_
