// Adds up the model state that a GPU holds of one tensor after another, and lists it on request.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STATE_LIST_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STATE_LIST_H_

#include <array>
#include <cstdint>

#include "engine/memory/ledger_row.h"
#include "engine/memory/state/term_rule.h"
#include "engine/model/sharding/tensor_shard.h"

namespace sextant {

// Numbers of a term: `elements` and `scale_bytes` in each of `layers` layers.
struct StateAmount {
  int64_t elements = 0;
  int64_t scale_bytes = 0;
  int64_t layers = 1;
};

// A rank's share of it: elements of all layers together, rounded up, so that the ranks hold less
// than one element each too many. One rank has it as it is.
StateAmount ShareOf(const StateAmount& amount, int64_t ranks);

// (elements x bits / 8, rounded up, + scale_bytes) x layers. Bits are 4, or whole bytes.
int64_t SizeOf(const StateAmount& amount, int64_t element_bits);

// A model has at most kMaxParameterCount (1e15) parameters, and a parameter less than 100 bytes of
// all terms and scales together, so that no sum here overflows.
class StateList {
 public:
  // Rows are appended to `rows`; null: sums alone, and nothing is allocated.
  explicit StateList(LedgerRows* rows) : rows_(rows) {}

  // Amounts added from here on are of `tensor`, of which a GPU has `shard` a layer.
  void GoTo(const WeightTensor& tensor, const TensorShard& shard) {
    tensor_ = &tensor;
    shard_ = &shard;
  }

  bool has_rows() const { return rows_ != nullptr; }

  // `offloaded`: to host memory, which has no rows of the GPU's.
  void Add(const TermRule& rule, const StateAmount& amount, bool offloaded);
  // The same in two steps: the row of a tensor, where there are rows; the numbers of all tensors.
  void AddRow(const TermRule& rule, const StateAmount& amount, bool offloaded);
  void AddSum(const TermRule& rule, int64_t numbers, bool offloaded);
  // There only at times, and of no tensor in particular: a row, and no sum. There are rows.
  void AddTransient(LedgerRow row);

  int64_t of(LedgerKind kind) const { return sums_[static_cast<size_t>(kind)]; }
  int64_t host() const { return host_; }

 private:
  void AddTo(LedgerKind kind, int64_t size, bool offloaded);

  LedgerRows* const rows_;
  const WeightTensor* tensor_ = nullptr;
  const TensorShard* shard_ = nullptr;
  std::array<int64_t, kLedgerKindCount> sums_{};
  int64_t host_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_STATE_LIST_H_
