// Operations' times on one device, each size priced once.
#ifndef SEXTANT_ENGINE_TIME_PRICED_OPERATIONS_H_
#define SEXTANT_ENGINE_TIME_PRICED_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "engine/hardware/kernels/kernel_time.h"
#include "engine/model/trace/trace.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// Layers of several kinds, and layouts, have products, passes and attention of the same sizes. Of
// those that share a slot the last one is kept.
class PricedOperations {
 public:
  // For one layout, whose passes over memory are as fast to price as to find. `pricer` outlives
  // this.
  explicit PricedOperations(const OperationPricer& pricer)
      : PricedOperations(pricer, kOfLayout, false) {}
  // For many layouts. `slots` is a power of two up to 2^15.
  PricedOperations(const OperationPricer& pricer, size_t slots)
      : PricedOperations(pricer, slots, true) {}

  const OperationPricer& pricer() const { return pricer_; }

  // OperationPricer::TimeOf().
  KernelTime TimeOf(const TraceOp& op) {
    const bool keeps = keeps_passes_ || !std::holds_alternative<PassWork>(op.work);
    return keeps ? TimeOfKept(op) : pricer_.TimeOf(op);
  }

 private:
  struct Entry {
    TraceWork work;
    TracePass pass;  // not of PassWork, which takes as long in all
    bool narrow;     // likewise
    int64_t launches;
    KernelTime time;
  };
  static constexpr size_t kOfLayout = 64;

  PricedOperations(const OperationPricer& pricer, size_t slots, bool keeps_passes)
      : pricer_(pricer), keeps_passes_(keeps_passes), slots_(slots) {
    entries_.reserve(kOfLayout);
  }
  KernelTime TimeOfKept(const TraceOp& op);

  const OperationPricer& pricer_;
  const bool keeps_passes_;
  std::vector<uint16_t> slots_;  // 1 + index of entries_; 0: empty
  std::vector<Entry> entries_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_PRICED_OPERATIONS_H_
