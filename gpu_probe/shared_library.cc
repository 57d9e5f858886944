#include "gpu_probe/shared_library.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sextant::probe {

absl::StatusOr<LibrarySymbols> LibrarySymbols::Open(const std::string& folder,
                                                    const std::vector<std::string>& names,
                                                    int binding) {
  std::vector<std::string> faults;
  for (const std::string& name : names) {
    LibrarySymbols out;
    out.library_ = folder.empty() ? name : absl::StrCat(folder, "/", name);
    out.handle_ = dlopen(out.library_.c_str(), binding | RTLD_LOCAL);
    if (out.handle_ != nullptr) return out;
    const char* const fault = dlerror();
    faults.emplace_back(fault == nullptr ? out.library_ : fault);
  }
  return absl::NotFoundError(absl::StrJoin(faults, "; "));
}

}  // namespace sextant::probe
