// Libraries that are loaded by name at run time, since many hosts don't have them.
#ifndef SEXTANT_GPU_PROBE_CUDA_SHARED_LIBRARY_H_
#define SEXTANT_GPU_PROBE_CUDA_SHARED_LIBRARY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sextant::probe {

class SharedLibrary {
 public:
  // Loads the first of `names` that loads: a path, or a name that the system's loader looks up.
  // With a `folder`, only from there. Never unloaded: such libraries may have threads of their own.
  //
  // Errors: kNotFound with the loader's words for each name.
  static absl::StatusOr<SharedLibrary> Open(const std::string& folder,
                                            const std::vector<std::string>& names);

  // The name under which it was opened.
  const std::string& name() const { return name_; }

  // Points `*out` at the function `name`. Where the library has none, leaves `*out` empty and
  // returns false. The caller is responsible for the types.
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

// Finds functions of one library, and remembers the first missing one.
class FunctionFinder {
 public:
  // `library` outlives it.
  explicit FunctionFinder(const SharedLibrary& library) : library_(library) {}

  template <typename Function>
  void Find(const char* name, Function* out) {
    if (!library_.Find(name, out) && missing_.empty()) missing_ = name;
  }

  const SharedLibrary& library() const { return library_; }
  // "" where all were found.
  const std::string& missing() const { return missing_; }

 private:
  const SharedLibrary& library_;
  std::string missing_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_SHARED_LIBRARY_H_
