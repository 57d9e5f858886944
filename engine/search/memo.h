// Keeps the values of a function.
#ifndef SEXTANT_ENGINE_SEARCH_MEMO_H_
#define SEXTANT_ENGINE_SEARCH_MEMO_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/optional.h"

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
    // From the last one on: many callers ask for keys in the same order again and again.
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[last_]->key == key) return entries_[last_]->value;
      if (++last_ == entries_.size()) last_ = 0;
    }
    if (entries_.size() >= most_) Clear();
    std::unique_ptr<Entry> made(new Entry{key, make()});
    entries_.push_back(std::move(made));
    last_ = entries_.size() - 1;
    return entries_[last_]->value;
  }

  void Clear() {
    entries_.clear();
    last_ = 0;
  }

 private:
  struct Entry {
    Key key;
    Value value;
  };

  size_t most_ = std::numeric_limits<size_t>::max();
  absl::InlinedVector<std::unique_ptr<Entry>, 1> entries_;
  size_t last_ = 0;  // index of the entry that was asked for last
};

// The value of the key that was asked for last, in place.
template <typename Key, typename Value>
class LastMemo {
 public:
  template <typename Make>
  Value& At(const Key& key, Make make) {
    if (!entry_.has_value() || !(entry_->key == key)) {
      entry_.reset();
      entry_.emplace(Entry{key, make()});
    }
    return entry_->value;
  }

 private:
  struct Entry {
    Key key;
    Value value;
  };

  absl::optional<Entry> entry_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_MEMO_H_
