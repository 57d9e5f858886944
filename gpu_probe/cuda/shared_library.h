// Libraries that are loaded by name while the program runs, since many hosts don't have them.
#ifndef SEXTANT_GPU_PROBE_CUDA_SHARED_LIBRARY_H_
#define SEXTANT_GPU_PROBE_CUDA_SHARED_LIBRARY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sextant {

class SharedLibrary {
 public:
  // The first of `names` that loads: a path, or a name that the system's loader looks for. With
  // a `folder`, from there alone. Never unloaded: such libraries may have threads of their own.
  //
  // Errors: kNotFound with the loader's words for each name.
  static absl::StatusOr<SharedLibrary> Open(const std::string& folder,
                                            const std::vector<std::string>& names);

  // As it was opened.
  const std::string& name() const { return name_; }

  // Makes `*out` call the function `name`. Where the library has none, `*out` is left empty, and
  // the result is false. The caller answers for the types.
  template <typename Result, typename... Arguments>
  bool Find(const char* name, std::function<Result(Arguments...)>* out) const {
    void* const symbol = Symbol(name);
    if (symbol == nullptr) return false;
    *out = reinterpret_cast<Result (*)(Arguments...)>(symbol);
    return true;
  }

 private:
  SharedLibrary(void* handle, std::string name);
  void* Symbol(const char* name) const;

  void* handle_;
  std::string name_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_SHARED_LIBRARY_H_
