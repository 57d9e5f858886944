#include "gpu_probe/host/onednn_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

// The first members of dnnl_version_t: the same in versions 2 and 3.
struct VersionStart {
  int major = 0;
  int minor = 0;
  int patch = 0;
};

// Debian adds the minor version to the name of version 3's library.
std::vector<std::string> NamesToTry(const std::string& path) {
  if (!path.empty()) return {path};
  return {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so.3.6"};
}

// Each variable has an older name, which old libraries read and new ones still accept.
void SetVariable(const char* name, const char* value) {
  setenv(absl::StrCat("ONEDNN_", name).c_str(), value, /*overwrite=*/1);
  setenv(absl::StrCat("DNNL_", name).c_str(), value, /*overwrite=*/1);
}

constexpr char kSpinCount[] = "10000";

void SetEnvironment(const CoreSet& cores) {
  // The probe's figures are for all cores that it may use; to measure fewer, restrict its cores.
  setenv("OMP_NUM_THREADS", absl::StrCat(cores.numbers.size()).c_str(), /*overwrite=*/1);
  // Each thread stays on its core: two of them on one core would take turns for milliseconds,
  // until the system notices.
  setenv("OMP_PROC_BIND", cores.pinned ? "true" : "false", /*overwrite=*/1);
  const std::string places = absl::StrCat("{", absl::StrJoin(cores.numbers, "},{"), "}");
  if (cores.pinned) setenv("OMP_PLACES", places.c_str(), /*overwrite=*/1);
  if (!cores.pinned) unsetenv("OMP_PLACES");
  // Between two multiplications its threads spin, as the next one follows at once; but only for
  // some tenths of a millisecond, since the checks then need the cores.
  setenv("GOMP_SPINCOUNT", kSpinCount, /*overwrite=*/1);
  SetVariable("DEFAULT_FPMATH_MODE", "STRICT");
  // The log would go to the output that holds the probe's events.
  SetVariable("VERBOSE", "0");
}

}  // namespace

absl::StatusOr<OnednnLibrary> OnednnLibrary::Load(const std::string& path, const CoreSet& cores) {
  SetEnvironment(cores);
  OnednnLibrary library;
  std::vector<std::string> faults;
  for (const std::string& name : NamesToTry(path)) {
    library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    library.path_ = name;
    if (library.handle_ != nullptr) break;
    const char* const fault = dlerror();
    faults.emplace_back(fault == nullptr ? name : fault);
  }
  if (library.handle_ == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("oneDNN could not be loaded (", absl::StrJoin(faults, "; "), ")"));
  }
  SEXTANT_RETURN_IF_ERROR(library.ReadVersion());
  SEXTANT_RETURN_IF_ERROR(library.FindAll());
  return library;
}

absl::Status OnednnLibrary::FindAny(const char* name, void** out) const {
  *out = dlsym(handle_, name);
  if (*out != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path_, " is not a oneDNN that the probe knows: it has no ", name));
}

absl::Status OnednnLibrary::ReadVersion() {
  const VersionStart* (*read)() = nullptr;
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_version", &read));
  const VersionStart* const found = read();
  if (found == nullptr || (found->major != 2 && found->major != 3)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " is oneDNN of a version that the probe does not know (",
                     found == nullptr ? 0 : found->major, "): install version 2 or 3"));
  }
  major_version_ = found->major;
  version_ = absl::StrCat(found->major, ".", found->minor, ".", found->patch);
  return absl::OkStatus();
}

absl::Status OnednnLibrary::FindAll() {
  OnednnFunctions& f = functions_;
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_engine_create", &f.engine_create));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_engine_destroy", &f.engine_destroy));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_stream_create", &f.stream_create));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_stream_wait", &f.stream_wait));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_stream_destroy", &f.stream_destroy));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_memory_create", &f.memory_create));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_memory_set_data_handle", &f.memory_set_data_handle));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_memory_destroy", &f.memory_destroy));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_primitive_desc_destroy", &f.primitive_desc_destroy));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_primitive_desc_query", &f.primitive_desc_query));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_primitive_create", &f.primitive_create));
  SEXTANT_RETURN_IF_ERROR(Find("dnnl_primitive_execute", &f.primitive_execute));
  return Find("dnnl_primitive_destroy", &f.primitive_destroy);
}

absl::Status OnednnStatus(onednn::Status status, absl::string_view call) {
  switch (status) {
    case 0:
      return absl::OkStatus();
    case 1:
      return absl::ResourceExhaustedError(absl::StrCat(call, ": out of memory"));
    case 2:
      return absl::InternalError(absl::StrCat(call, ": invalid arguments"));
    case 3:
      return absl::UnimplementedError(absl::StrCat(call, ": not implemented"));
    default:
      return absl::InternalError(absl::StrCat(call, ": failed with status ", status));
  }
}

}  // namespace sextant::probe
