// Keeps the values of a function.
#ifndef SEXTANT_ENGINE_SEARCH_MEMO_H_
#define SEXTANT_ENGINE_SEARCH_MEMO_H_

#include <cstddef>
#include <limits>
#include <memory>

#include "absl/container/flat_hash_map.h"

namespace sextant {

// Values by all that they depend on. A key compares and hashes all of its members.
template <typename Key, typename Value>
class Memo {
 public:
  // Keeps at most `most` values: all are dropped before there is one more.
  explicit Memo(size_t most = std::numeric_limits<size_t>::max()) : most_(most) {}

  // The value of `key`, which is make() where it is not kept. Valid until the next call with
  // another key.
  template <typename Make>
  Value& At(const Key& key, Make make) {
    if (last_ != nullptr && key == last_key_) return *last_;
    const auto known = values_.find(key);
    if (known != values_.end()) {
      last_ = known->second.get();
    } else {
      if (values_.size() >= most_) Clear();
      std::unique_ptr<Value> made(new Value(make()));
      last_ = (values_[key] = std::move(made)).get();
    }
    last_key_ = key;
    return *last_;
  }

  void Clear() {
    values_.clear();
    last_ = nullptr;
  }

 private:
  size_t most_;
  absl::flat_hash_map<Key, std::unique_ptr<Value>> values_;
  Key last_key_ = {};
  Value* last_ = nullptr;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_MEMO_H_
