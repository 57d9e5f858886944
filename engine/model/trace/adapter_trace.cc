// The products of low-rank adapters, in addition to those of their matrices.
#include "engine/model/trace/trace_builder.h"

namespace sextant {

// y += alpha / rank up(down(dropout(x))). The adapter's matrix on the divided axis of its target is
// divided, the other one is whole. Matrices that are adapted as one have one `down`, the first's.
// Source: Hu et al. 2021 (arXiv 2106.09685) section 4.1; scale and sums are passes of their own in
// huggingface/peft, src/peft/tuners/lora/layer.py.
void TraceBuilder::AddAdapters(const Projection& projection) {
  const auto find = [&](size_t index, WeightRole role) {
    return Find(projection.module, projection.names[index], role);
  };
  const auto shares = [&](size_t index) {
    return find(index, WeightRole::kAdapterUp).tensor != nullptr &&
           find(index, WeightRole::kAdapterDown).tensor == nullptr;
  };
  AdapterInner inner;
  for (size_t i = 0; i < projection.names.size(); ++i) {
    const Matrix down = find(i, WeightRole::kAdapterDown);
    if (down.tensor != nullptr) inner = AddAdapterDown(projection, down);
    if (down.tensor == nullptr && !shares(i)) continue;
    inner.last = i + 1 == projection.names.size() || !shares(i + 1);
    AddAdapterUp(projection, i, inner);
    if (down.tensor == nullptr || !projection.input_needs_gradient) continue;
    const TraceOperand gradient = {projection.input, true};
    Pass(TracePass::kInputGradient, "add_adapter_gradient", {gradient, gradient}, {gradient});
  }
}

TraceBuilder::AdapterInner TraceBuilder::AddAdapterDown(const Projection& projection,
                                                        const Matrix& down) {
  const bool slots = projection.rows == TokenRows::kSlots;
  uint8_t input = projection.input;
  if (batch().adapter_dropout) {
    input = MakeWhole(out_.tensors[projection.input].elements);
    const uint8_t mask = MakeWhole(out_.tensors[projection.input].elements, TraceElement::kMask);
    if (projection.input_needs_gradient) {
      Pass(TracePass::kInputGradient, "adapter_dropout", {{mask}, {input, true}},
           {{projection.input, true}});
    }
    Pass(TracePass::kForward, "adapter_dropout", {{projection.input}}, {{input}, {mask}});
  }
  const bool columns = projection.split == MatrixSplit::kColumns;
  AdapterInner inner;
  inner.computed = Make(slots ? TokenRows::kSlots : TokenRows::kSequence, down.tensor->rows);
  Projection part = projection;
  part.component = FlopsComponent::kAdapter;
  part.narrow = false;
  part.op = "adapter_down";
  part.input = input;
  part.outputs = {{inner.computed}};
  part.split = columns ? MatrixSplit::kColumns : MatrixSplit::kNone;
  AddProduct(part, ProductOf(down, part.split), input);
  if (columns && !slots) SumOutput(part);
  const bool gathers = projection.split == MatrixSplit::kRows && !slots;
  inner.multiplied = gathers ? GatheredInput(inner.computed) : inner.computed;
  return inner;
}

void TraceBuilder::AddAdapterUp(const Projection& projection, size_t index,
                                const AdapterInner& inner) {
  const Matrix up = Find(projection.module, projection.names[index], WeightRole::kAdapterUp);
  const TraceOperand output = projection.OutputOf(index);
  Projection part = projection;
  part.component = FlopsComponent::kAdapter;
  part.narrow = false;
  part.op = "adapter_up";
  part.input = inner.computed;
  part.outputs = {output};
  if (projection.split == MatrixSplit::kColumns) part.split = MatrixSplit::kNone;
  part.input_needs_gradient = true;
  AddProduct(part, ProductOf(up, part.split), inner.multiplied);
  if (inner.last && inner.multiplied != inner.computed) {
    Gather(TracePass::kRecompute, inner.computed, inner.multiplied);
  }
  const TraceOperand of_output = {output.tensor, true};
  Pass(TracePass::kInputGradient, "scale_adapter", {of_output}, {of_output});
  Pass(TracePass::kForward, "scale_adapter", {output}, {output});
  Pass(TracePass::kForward, "add_adapter", {output, output}, {output});
}

}  // namespace sextant
