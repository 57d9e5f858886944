// A value that is computed once, on first use.
#ifndef SEXTANT_ENGINE_BASE_LAZY_H_
#define SEXTANT_ENGINE_BASE_LAZY_H_

#include "absl/base/call_once.h"
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
    return *value_;
  }

 private:
  mutable absl::once_flag once_;
  mutable absl::optional<T> value_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_LAZY_H_
