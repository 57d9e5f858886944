#include "server/gpu_activity/gpm_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant::server {
namespace {

constexpr char kNvml[] = "libnvidia-ml.so.1";

// Points `*out` at the function `name`. The caller is responsible for the types.
template <typename... Arguments>
absl::Status FindFunction(void* library, const char* name,
                          GpmLibrary::Function<Arguments...>* out) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) {
    return absl::UnimplementedError(absl::StrCat(kNvml, " has no ", name));
  }
  *out = reinterpret_cast<gpm::Return (*)(Arguments...)>(symbol);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GpmLibrary> LoadGpmLibrary() {
  void* const library = dlopen(kNvml, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const fault = dlerror();
    return absl::NotFoundError(fault == nullptr ? kNvml : fault);
  }
  GpmLibrary out;
  const auto find = [&](const char* name, auto* function) {
    return FindFunction(library, name, function);
  };
  SEXTANT_RETURN_IF_ERROR(find("nvmlInit_v2", &out.init));
  SEXTANT_RETURN_IF_ERROR(find("nvmlDeviceGetCount_v2", &out.gpu_count));
  SEXTANT_RETURN_IF_ERROR(find("nvmlDeviceGetHandleByIndex_v2", &out.gpu));
  SEXTANT_RETURN_IF_ERROR(find("nvmlDeviceGetUUID", &out.uuid));
  SEXTANT_RETURN_IF_ERROR(find("nvmlDeviceGetMigMode", &out.mig));
  SEXTANT_RETURN_IF_ERROR(find("nvmlGpmQueryDeviceSupport", &out.support));
  SEXTANT_RETURN_IF_ERROR(find("nvmlGpmSampleAlloc", &out.allocate));
  SEXTANT_RETURN_IF_ERROR(find("nvmlGpmSampleFree", &out.free));
  SEXTANT_RETURN_IF_ERROR(find("nvmlGpmSampleGet", &out.sample));
  SEXTANT_RETURN_IF_ERROR(find("nvmlGpmMetricsGet", &out.metrics));
  find("nvmlDeviceGetMemoryInfo_v2", &out.memory).IgnoreError();  // since R510
  return out;
}

}  // namespace sextant::server
