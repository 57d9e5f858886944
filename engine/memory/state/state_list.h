// Adds up a GPU's model state tensor by tensor, and lists it on request.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STATE_LIST_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STATE_LIST_H_

#include <array>
#include <cstdint>

#include "engine/memory/ledger_row.h"
#include "engine/memory/model_state.h"
#include "engine/model/sharding/tensor_shard.h"

namespace sextant {

// The amount of a term: `elements` and `scale_bytes` in each of `layers` layers.
struct StateAmount {
  int64_t elements = 0;
  int64_t scale_bytes = 0;
  int64_t layers = 1;
};

// A rank's share of `amount`: elements of all layers together, rounded up, so that each rank holds
// less than one element too many. With one rank, `amount` itself.
StateAmount ShareOf(const StateAmount& amount, int64_t ranks);

// (elements x bits / 8, rounded up, + scale_bytes) x layers. Bits are 4, or whole bytes.
int64_t SizeOf(const StateAmount& amount, int64_t element_bits);

// A model has at most kMaxParameterCount (1e15) parameters, and each less than 100 bytes over all
// terms and scales, so no sum here overflows.
class StateList {
 public:
  // Appends rows to `rows`; null: only sums, and nothing is allocated.
  explicit StateList(LedgerRows* rows) : rows_(rows) {}

  // Amounts added from here on belong to `tensor`; a GPU has `shard` of it per layer.
  void GoTo(const WeightTensor& tensor, const TensorShard& shard) {
    tensor_ = &tensor;
    shard_ = &shard;
  }

  bool has_rows() const { return rows_ != nullptr; }

  // `offloaded`: to host memory, which has no rows in the GPU's ledger.
  void Add(const TermRule& rule, const StateAmount& amount, bool offloaded);
  // The same in two steps: AddRow() per tensor, where rows are listed; AddSum() for all tensors.
  void AddRow(const TermRule& rule, const StateAmount& amount, bool offloaded);
  void AddSum(const TermRule& rule, int64_t numbers, bool offloaded);
  // Adds a row, but no sum, for transient memory of no particular tensor. Needs rows.
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
