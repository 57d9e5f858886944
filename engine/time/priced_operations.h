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
  // `slots` is a power of two; the few of one layout, thousands of a search's. `pricer` outlives
  // this.
  explicit PricedOperations(const OperationPricer& pricer, size_t slots = 32)
      : pricer_(pricer), entries_(slots) {}

  const OperationPricer& pricer() const { return pricer_; }

  // OperationPricer::TimeOf().
  KernelTime TimeOf(const TraceOp& op);

 private:
  struct Entry {
    TraceWork work = {};
    TracePass pass = TracePass::kForward;  // not of PassWork, which takes as long in all
    bool narrow = false;                   // likewise
    int64_t launches = 0;                  // 0: empty
    KernelTime time = {};
  };

  const OperationPricer& pricer_;
  std::vector<Entry> entries_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_PRICED_OPERATIONS_H_
