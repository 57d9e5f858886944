// A value that is computed once, on first use.
#ifndef SEXTANT_ENGINE_BASE_LAZY_H_
#define SEXTANT_ENGINE_BASE_LAZY_H_

#include "absl/base/call_once.h"
#include "absl/base/config.h"
#include "absl/types/optional.h"

namespace sextant {

// Thread-safe: of several first callers one computes the value, the others wait for it. Later
// calls cost one load.
template <typename T>
class Lazy {
 public:
  Lazy() = default;
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  // `make` returns a T; only the first call's `make` runs.
  template <typename Make>
  const T& Get(const Make& make) const {
    absl::call_once(once_, [&] { value_.emplace(make()); });
#ifdef ABSL_HAVE_THREAD_SANITIZER
    // Abseil's library, compiled without the sanitizer's marks, waits for another thread there.
    // This looks at the flag here, where the sanitizer sees it.
    absl::call_once(once_, [] {});
#endif
    return *value_;
  }

 private:
  mutable absl::once_flag once_;
  mutable absl::optional<T> value_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_LAZY_H_
