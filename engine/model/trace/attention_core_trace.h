// The operations of attention between its projections.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_ATTENTION_CORE_TRACE_H_
#define SEXTANT_ENGINE_MODEL_TRACE_ATTENTION_CORE_TRACE_H_

#include <cstdint>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/flops/activation_flow.h"
#include "engine/model/trace/layer_trace.h"

namespace sextant {

// Attention of one layer on one GPU, and the tensors that it reads and writes.
struct AttentionCoreTrace {
  const LayerTraceParts& parts;
  const AttentionSpec& attention;
  bool cross = false;
  int64_t heads = 1;
  int64_t key_value_heads = 1;
  int64_t key_length = 0;  // of a sequence, on all ranks
  int64_t key_tokens = 0;  // of the micro-batch, on this GPU
  uint8_t query = 0;
  uint8_t key = 0;
  uint8_t value = 0;
  uint8_t output = 0;
};

// Adds the core, fused or not, its recomputation, and the ring or the exchanges of heads of context
// parallelism.
void AddAttentionCore(const AttentionCoreTrace& core);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_ATTENTION_CORE_TRACE_H_
