// The trace of a whole model, layer by layer, for tests.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_TRACE_TRACED_MODEL_H_
#define SEXTANT_TESTS_ENGINE_MODEL_TRACE_TRACED_MODEL_H_

#include <vector>

#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/sharding/tensor_shard.h"
#include "engine/model/trace/layer_trace.h"
#include "engine/model/trace/trace_builder.h"

namespace sextant {

// Bytes of the tensors that stay from the forward to the backward pass: those that the backward
// pass reads and that nothing recomputes.
double KeptBytes(const Trace& trace);

class TracedModel {
 public:
  // `context` outlives this, and has a flow.
  explicit TracedModel(const TraceContext& context);

  // One trace of each layer of each stack, in order, one of each multi-token prediction module's
  // layer, and those of everything else.
  struct Piece {
    ModelPart part = ModelPart::kInput;
    int layer_kind = -1;  // -1: outside the layers
    LayerGradientState state = {};
    Trace trace = {};
  };
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  void AddStack(ModelPart part, const StackSpec& stack);
  void AddLayer(ModelPart part, int kind, LayerGradientState state);

  const TraceContext& context_;
  const WeightTensors tensors_;
  std::vector<TensorShard> shards_;
  std::vector<Piece> pieces_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_TRACE_TRACED_MODEL_H_
