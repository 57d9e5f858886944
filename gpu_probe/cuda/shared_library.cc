#include "gpu_probe/cuda/shared_library.h"

#include <dlfcn.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sextant::probe {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const std::string& folder,
                                                  const std::vector<std::string>& names) {
  std::vector<std::string> faults;
  for (const std::string& name : names) {
    const std::string path = folder.empty() ? name : absl::StrCat(folder, "/", name);
    // Lazy binding: a library of another version may lack symbols that only its other functions
    // need.
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) return SharedLibrary(handle, path);
    const char* const fault = dlerror();
    faults.emplace_back(fault == nullptr ? path : fault);
  }
  return absl::NotFoundError(absl::StrJoin(faults, "; "));
}

SharedLibrary::SharedLibrary(void* handle, std::string name)
    : handle_(handle), name_(std::move(name)) {}

void* SharedLibrary::Symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace sextant::probe
