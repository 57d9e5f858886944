// Keeps the values of a function.
#ifndef SEXTANT_ENGINE_SEARCH_MEMO_H_
#define SEXTANT_ENGINE_SEARCH_MEMO_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace sextant {

// Values by all that they depend on. A key compares and hashes all of its members.
template <typename Key, typename Value>
class Memo {
 public:
  // Keeps at most `most` values: all are dropped before there is one more.
  explicit Memo(size_t most) : most_(most) {}

  // The value of `key`: make(), where it is not kept. Valid until the next call with another key.
  template <typename Make>
  Value& At(const Key& key, Make make) {
    const auto known = values_.find(key);
    if (known != values_.end()) return *known->second;
    if (values_.size() >= most_) values_.clear();
    std::unique_ptr<Value> made(new Value(make()));
    return *(values_[key] = std::move(made));
  }

 private:
  size_t most_;
  absl::flat_hash_map<Key, std::unique_ptr<Value>> values_;
};

// The same of few keys, which are compared in turn.
template <typename Key, typename Value>
class ShortMemo {
 public:
  ShortMemo() = default;
  explicit ShortMemo(size_t most) : most_(most) {}

  template <typename Make>
  Value& At(const Key& key, Make make) {
    for (const std::unique_ptr<Entry>& known : entries_) {
      if (known->key == key) return known->value;
    }
    if (entries_.size() >= most_) entries_.clear();
    std::unique_ptr<Entry> made(new Entry{key, make()});
    return entries_.emplace_back(std::move(made))->value;
  }

  void Clear() { entries_.clear(); }

 private:
  struct Entry {
    Key key;
    Value value;
  };

  size_t most_ = std::numeric_limits<size_t>::max();
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_MEMO_H_
