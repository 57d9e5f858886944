// The buffers that each optimizer keeps.
#ifndef SEXTANT_ENGINE_MEMORY_OPTIMIZER_STATE_H_
#define SEXTANT_ENGINE_MEMORY_OPTIMIZER_STATE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

inline constexpr int64_t kBlockScaleBytes = 4;  // of a buffer quantised in blocks: fp32

// Of which tensors an optimizer keeps a buffer.
enum class BufferScope { kAll, kHiddenMatrices, kOthers };

// How many numbers the buffer of a tensor has.
enum class BufferShape {
  kElements,        // as many as the tensor
  kRowsAndColumns,  // of a matrix: its rows + its columns; of a vector: its length
};

// A buffer as a rule, for whichever tensors are trained. Views are of literals: never freed.
struct BufferRule {
  absl::string_view name = "";
  BufferShape shape = BufferShape::kElements;
  BufferScope scope = BufferScope::kAll;
  absl::string_view source = "";
};

// The buffers of `optimizer`, at most 3. Never freed.
absl::Span<const BufferRule> BufferRulesOf(const OptimizerSpec& optimizer);

// A matrix inside the layers, which Muon itself updates.
bool IsHiddenMatrix(const WeightTensor& tensor);

bool InScope(BufferScope scope, const WeightTensor& tensor);

// Numbers of a buffer over `trainable` parameters whose tensors are among `tensors` (empty where
// NeedsShapes() is false and only the count is known).
int64_t BufferElements(BufferShape shape, BufferScope scope, int64_t trainable,
                       const WeightTensors& tensors);

// fp32 scales of a buffer quantised in blocks: one a block, a tensor's last block being
// short; over the bare count where `tensors` is empty.
int64_t ScaleCount(int64_t block_size, int64_t trainable, const WeightTensors& tensors);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_OPTIMIZER_STATE_H_
