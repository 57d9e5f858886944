// What the loss and the output head make while they run, and what a pipeline receives into.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_END_TRANSIENTS_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_END_TRANSIENTS_H_

#include "engine/memory/transients/transient_list.h"

namespace sextant {

// Beside all that the forward pass left, at the loss's worst moment.
void AddLossTransients(const TransientContext& context, TransientList& out);

// While the output head's gradients are worked out.
void AddHeadTransients(const TransientContext& context, TransientList& out);

// Of what the loss kept, gone by the head's backward pass.
CheckedInt FreedBehindLoss(const TransientContext& context);

// Of what stands behind the layers, still there in their backward pass: logits that are the
// model's output.
CheckedInt OutputThatStays(const TransientContext& context);

// Hidden states from the stage before, and their gradient from the one behind. Rows are appended to
// `rows`, if not null.
CheckedInt AddReceiveBuffers(const TransientContext& context, int64_t stage, LedgerRows* rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_END_TRANSIENTS_H_
