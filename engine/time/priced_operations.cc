#include "engine/time/priced_operations.h"

#include <bit>
#include <variant>

namespace sextant {
namespace {

// Multiplied by 2^64 / golden ratio: Knuth, "The Art of Computer Programming", section 6.4. The
// upper bits are the mixed ones.
uint64_t Mix(uint64_t hash, uint64_t value) {
  const uint64_t product = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return product ^ product >> 32;
}

uint64_t Mix(uint64_t hash, int64_t value) { return Mix(hash, static_cast<uint64_t>(value)); }
uint64_t Mix(uint64_t hash, double value) { return Mix(hash, std::bit_cast<uint64_t>(value)); }

// 0: not kept.
uint64_t HashOf(const TraceWork& work) {
  if (const auto* pass = std::get_if<PassWork>(&work)) {
    return Mix(Mix(1, pass->read_bytes), pass->written_bytes);
  }
  if (const auto* matmul = std::get_if<MatmulWork>(&work)) {
    return Mix(Mix(Mix(2, matmul->m), matmul->n), matmul->k);
  }
  if (const auto* attention = std::get_if<AttentionWork>(&work)) {
    return Mix(Mix(Mix(3, attention->queries), attention->keys), attention->heads);
  }
  return 0;  // of work whose sizes come but once
}

}  // namespace

KernelTime PricedOperations::TimeOfKept(const TraceOp& op) {
  const uint64_t hash = HashOf(op.work);
  if (hash == 0) return pricer_.TimeOf(op);
  const bool any_pass = std::holds_alternative<PassWork>(op.work);
  const TracePass pass = any_pass ? TracePass::kForward : op.pass;
  const bool narrow = !any_pass && op.narrow;
  const auto priced = [&] { return Entry{op.work, pass, narrow, op.launches, pricer_.TimeOf(op)}; };
  uint16_t& slot = slots_[(hash + static_cast<uint64_t>(pass)) & (slots_.size() - 1)];
  if (slot == 0) {
    entries_.push_back(priced());
    slot = static_cast<uint16_t>(entries_.size());
    return entries_.back().time;
  }
  Entry& entry = entries_[slot - size_t{1}];
  if (entry.launches != op.launches || entry.pass != pass || entry.narrow != narrow ||
      entry.work != op.work) {
    entry = priced();
  }
  return entry.time;
}

}  // namespace sextant
