// The buffers that each optimizer keeps.
#ifndef SEXTANT_ENGINE_MEMORY_OPTIMIZER_STATE_H_
#define SEXTANT_ENGINE_MEMORY_OPTIMIZER_STATE_H_

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// One buffer: how many numbers it holds, before their format is known.
struct OptimizerBuffer {
  absl::string_view name;
  int64_t elements = 0;
  absl::string_view source;
};

using OptimizerBuffers = absl::InlinedVector<OptimizerBuffer, 3>;

// The buffers of `optimizer` over `trainable` parameters whose tensors are among `tensors`
// (empty where NeedsShapes() is false and only the count is known).
OptimizerBuffers OptimizerBuffersOf(const OptimizerSpec& optimizer, int64_t trainable,
                                    const WeightTensors& tensors);

// fp32 scales of a buffer quantised in blocks: one a block, a tensor's last block being
// short; over the bare count where `tensors` is empty.
int64_t ScaleCount(int64_t block_size, int64_t trainable, const WeightTensors& tensors);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_OPTIMIZER_STATE_H_
