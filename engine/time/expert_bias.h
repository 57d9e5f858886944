// Biases that are added to experts' outputs one expert after the other.
#ifndef SEXTANT_ENGINE_TIME_EXPERT_BIAS_H_
#define SEXTANT_ENGINE_TIME_EXPERT_BIAS_H_

#include "absl/types/optional.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/trace/trace.h"

namespace sextant {

// The pass over memory that adds the output biases of `product`, or takes their gradients; absent
// where it is not a product of biased experts' outputs. `layer_kind`: that of its layer in `spec`;
// negative: of none.
//
// Megatron-LM multiplies each expert's bias by its rows' probabilities, in fp32, adds the outputs,
// joins all experts' rows and narrows them to e bytes, a kernel for each:
//   forward   writes 4, reads e + 4, writes 4, reads and writes 4, reads 4, writes e
//   backward  widens e to 4; narrows 4 to e, and joins the experts' e; for the bias multiplies 4 to
//             4 and sums 4; and for the probabilities the same
// bytes an element. Source: NVIDIA/Megatron-LM core_v0.15.0, megatron/core/transformer/moe/
// experts.py, TEGroupedMLP._apply_bias().
absl::optional<TraceOp> ExpertBias(const TraceOp& product, const ArchitectureSpec& spec,
                                   int layer_kind, double element_bytes);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_EXPERT_BIAS_H_
