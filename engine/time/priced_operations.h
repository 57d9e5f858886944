// Operations' times on one device, each size priced once.
#ifndef SEXTANT_ENGINE_TIME_PRICED_OPERATIONS_H_
#define SEXTANT_ENGINE_TIME_PRICED_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/hardware/kernels/kernel_time.h"
#include "engine/model/trace/trace.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// Layers of several kinds, and layouts, have products, passes and attention of the same sizes. Of
// those that share a slot the last one is kept.
class PricedOperations {
 public:
  // `slots` is a power of two up to 2^15; the few of one layout, thousands of a search's. `pricer`
  // outlives this.
  explicit PricedOperations(const OperationPricer& pricer, size_t slots = 256)
      : pricer_(pricer), slots_(slots) {
    entries_.reserve(kUsualCount);
  }

  const OperationPricer& pricer() const { return pricer_; }

  // OperationPricer::TimeOf().
  KernelTime TimeOf(const TraceOp& op);

 private:
  struct Entry {
    TraceWork work = {};
    TracePass pass = TracePass::kForward;  // not of PassWork, which takes as long in all
    bool narrow = false;                   // likewise
    int64_t launches = 0;
    KernelTime time = {};
  };
  static constexpr size_t kUsualCount = 192;  // of a layout's; more are allocated as they come

  const OperationPricer& pricer_;
  std::vector<uint16_t> slots_;  // 1 + index of entries_; 0: empty
  std::vector<Entry> entries_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_PRICED_OPERATIONS_H_
