// The operations outside the layers: embeddings, output head and loss, multi-token prediction.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_END_TRACE_H_
#define SEXTANT_ENGINE_MODEL_TRACE_END_TRACE_H_

#include "engine/model/trace/trace.h"
#include "engine/model/trace/trace_builder.h"

namespace sextant {

// Each appends to `out`. `weights` are all tensors of the model.
// Source: docs/step_time.md, "Ends of the model".

// The embedding of the encoder's or the decoder's tokens.
void AppendEmbeddingTrace(const TraceContext& context, const TraceWeights& weights, ModelPart part,
                          Trace& out);

// The norm after the last layer of `part`.
void AppendFinalNormTrace(const TraceContext& context, const TraceWeights& weights, ModelPart part,
                          Trace& out);

// Pooler, output head and loss.
void AppendOutputTrace(const TraceContext& context, const TraceWeights& weights, Trace& out);

// One multi-token prediction module without its layer.
void AppendModuleTrace(const TraceContext& context, const TraceWeights& weights, Trace& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_END_TRACE_H_
