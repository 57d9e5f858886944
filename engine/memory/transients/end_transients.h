// Transients of the loss and the output head, and the receive buffers of a pipeline.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_END_TRANSIENTS_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_END_TRANSIENTS_H_

#include "engine/memory/transients/transient_list.h"

namespace sextant {

// Adds the transients at the loss's largest step, on top of what the forward pass left.
void AddLossTransients(const TransientContext& context, TransientList& out);

// Adds the transients while the output head's gradients are computed.
void AddHeadTransients(const TransientContext& context, TransientList& out);

// Bytes that the loss kept and that are freed by the head's backward pass.
CheckedInt FreedBehindLoss(const TransientContext& context);

// Bytes after the layers that are still alive in the layers' backward pass: logits that are the
// model's output.
CheckedInt OutputThatStays(const TransientContext& context);

// Hidden states from the previous stage, and their gradient from the next one. Rows are appended
// to `rows`, if not null.
CheckedInt AddReceiveBuffers(const TransientContext& context, int64_t stage, LedgerRows* rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_END_TRANSIENTS_H_
