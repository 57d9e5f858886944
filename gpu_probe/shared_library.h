// Libraries that are loaded by name at run time, since many hosts don't have them, and tables of
// their functions. A table names each function once:
//
//   struct Driver {
//     LibrarySymbols symbols;  // of no library: all functions are empty
//     LibraryFunction<CudaStatus, unsigned> init = symbols("cuInit");
//   };
#ifndef SEXTANT_GPU_PROBE_SHARED_LIBRARY_H_
#define SEXTANT_GPU_PROBE_SHARED_LIBRARY_H_

#include <dlfcn.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::probe {

// A library's function, or null: becomes a std::function of whatever type the caller says it has.
class LibrarySymbol {
 public:
  LibrarySymbol(const char* name, void* address) : name_(name), address_(address) {}

  const char* name() const { return name_; }

  template <typename Result, typename... Arguments>
  operator std::function<Result(Arguments...)>() const {
    if (address_ == nullptr) return nullptr;
    return reinterpret_cast<Result (*)(Arguments...)>(address_);
  }

 private:
  const char* name_;
  void* address_;
};

// A function that answers with a number, 0 where it did what it should.
template <absl::Status (*StatusOf)(int code, absl::string_view call), typename... Arguments>
class LibraryFunction {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a table's member is set to a symbol
  LibraryFunction(LibrarySymbol symbol) : name_(symbol.name()), function_(symbol) {}
  // Puts in another function, which keeps the name.
  template <typename Other>
  LibraryFunction& operator=(Other other) {
    function_ = std::move(other);
    return *this;
  }

  int operator()(Arguments... arguments) const { return function_(arguments...); }
  // Calls it. Errors: StatusOf()'s, with its name.
  absl::Status Checked(Arguments... arguments) const {
    return StatusOf(function_(arguments...), name_);
  }

 private:
  const char* name_;
  std::function<int(Arguments...)> function_;
};

// Finds functions of one library, and remembers the first missing one.
class LibrarySymbols {
 public:
  LibrarySymbols() = default;

  // Loads the first of `names` that loads: a path, or a name that the system's loader looks up.
  // With a `folder`, only from there. Never unloaded: such libraries may have threads of their own.
  // Lazy binding: a library of another version may lack symbols that only its other functions need.
  //
  // Errors: kNotFound with the loader's words for each name.
  static absl::StatusOr<LibrarySymbols> Open(const std::string& folder,
                                             const std::vector<std::string>& names,
                                             int binding = RTLD_LAZY);

  LibrarySymbol operator()(const char* name) {
    void* const address = Find(name);
    if (address == nullptr && missing_.empty()) missing_ = name;
    return LibrarySymbol(name, address);
  }
  // The function `name`, or, in an older library, `older`.
  LibrarySymbol operator()(const char* name, const char* older) {
    void* const address = Find(name);
    return address != nullptr ? LibrarySymbol(name, address) : (*this)(older);
  }

  // The name under which the library was opened.
  const std::string& library() const { return library_; }
  // "" where all were found.
  const std::string& missing() const { return missing_; }

 private:
  void* Find(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

  void* handle_ = nullptr;
  std::string library_;
  std::string missing_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_SHARED_LIBRARY_H_
