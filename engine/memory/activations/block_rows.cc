// The tensors that a block keeps, by the rules of its operations: docs/blocks.md, "Kept values".
#include <algorithm>

#include "engine/memory/activations/layer_rows.h"

namespace sextant {
namespace {

using Kind = ElementKind;

// The operations whose backward pass reads a value.
struct Readers {
  bool computed = false;  // in the type it was computed in, by other operations than matrices
  int64_t matrices = 0;   // that multiply it
  BlockStage first = BlockStage::kOutput;  // of the forward pass, the last of the backward pass
};

class BlockRows {
 public:
  BlockRows(const Block& block, ActivationList& out) : block_(block), out_(out) {
    for (const BlockOp& op : block.ops) {
      if (op.kind == BlockOpKind::kProject && op.reads[0] != block.input()) {
        inner_matrices_ += static_cast<int64_t>(op.weights.size());
      }
    }
  }

  void AddValues() {
    for (BlockValueId id = 1; id < block_.output(); ++id) AddValue(id);
  }

  void AddSaved() {
    if (!Needs()) return;
    for (const SavedTensor& saved : block_.core.saved) {
      out_.Add({.name = saved.name,
                .shape = saved.shape,
                .kind = saved.fp32 ? Kind::kFp32 : Kind::kCompute,
                .cut = ActivationCut::kTensor,
                .width = CeilDivide(saved.width, out_.tensor_ranks()),
                .step = BackwardStep::kCore,
                .kept_for = "gradients of the recurrence",
                .source = activation_source::kBlock});
    }
  }

  // One for each output of a matrix; the block's own output has the residual's gradient.
  void AddOutputGradients() {
    for (const BlockOp& op : block_.ops) {
      if (op.kind != BlockOpKind::kProject) continue;
      for (const BlockValueId id : op.writes) {
        if (id == block_.output()) continue;
        ActivationRow row = RowOf(id);
        row.name = block_.value(id).gradient;
        out_.AddOutputGradient(row, SiteOfInput(op));
      }
    }
  }

 private:
  bool Needs() const { return out_.Needs(ActivationSite::kMixer); }
  ActivationSite SiteOfInput(const BlockOp& op) const {
    return op.reads[0] == block_.input() ? ActivationSite::kAttentionInput : ActivationSite::kMixer;
  }

  Readers ReadersOf(BlockValueId id) const {
    Readers out;
    for (const BlockOp& op : block_.ops) {
      if (std::find(op.keeps.begin(), op.keeps.end(), id) == op.keeps.end()) continue;
      if (op.kind == BlockOpKind::kProject) {
        out.matrices += static_cast<int64_t>(op.weights.size());
      } else if (Needs()) {
        out.computed = true;
      } else {
        continue;
      }
      out.first = std::min(out.first, op.stage);
    }
    return out;
  }

  ActivationRow RowOf(BlockValueId id) const {
    const BlockValue& value = block_.value(id);
    return {.name = value.name,
            .shape = value.shape,
            .cut = value.divided ? ActivationCut::kTensor : ActivationCut::kSequence,
            .width = value.divided ? value.width / out_.tensor_ranks() : value.width,
            .source = activation_source::kBlock};
  }

  // One tensor serves all readers, unless matrices multiply a narrower copy of it.
  void AddValue(BlockValueId id) {
    const Readers readers = ReadersOf(id);
    ActivationRow row = RowOf(id);
    row.step = BackwardStepOf(readers.first);
    const MatmulUse use = UseOf(readers.matrices);
    const bool shared = use.trained && readers.computed && !out_.narrows_matmul_inputs();
    if (readers.computed) {
      row.for_weights = shared;
      row.kept_for = "gradients of the operations that read it";
      out_.Add(row);
    }
    if (readers.matrices == 0) return;
    row.kind = Kind::kMatmulInput;
    row.kept_for = "weight gradients of the matrices that read it";
    MatmulUse further = use;
    further.trained = use.trained && !shared;
    out_.AddMatmulInput(row, further);
  }

  // All values inside a block have one site, so adapters are shared out among its matrices.
  MatmulUse UseOf(int64_t matrices) const {
    if (matrices == 0) return {.trained = false};
    if (out_.gradients() == nullptr) return {};
    MatmulUse use = out_.gradients()->UseOf(ActivationSite::kMixer);
    use.adapters = static_cast<int8_t>(CeilDivide(use.adapters * matrices, inner_matrices_));
    return use;
  }

  const Block& block_;
  ActivationList& out_;
  int64_t inner_matrices_ = 0;  // those that do not read the block's input
};

}  // namespace

BackwardStep BackwardStepOf(BlockStage stage) {
  switch (stage) {
    case BlockStage::kInput:
      return BackwardStep::kInput;
    case BlockStage::kUp:
      return BackwardStep::kUp;
    case BlockStage::kBeforeCore:
      return BackwardStep::kHeadNorms;
    case BlockStage::kCore:
      return BackwardStep::kCore;
    case BlockStage::kAfterCore:
      return BackwardStep::kValues;
    case BlockStage::kOutput:
      break;
  }
  return BackwardStep::kOutput;
}

void AddBlockRows(const Block& block, ActivationList& out) {
  out.Enter(block.module);
  BlockRows rows(block, out);
  rows.AddValues();
  rows.AddSaved();
  if (out.WaitsFor(MatmulUse())) rows.AddOutputGradients();
}

}  // namespace sextant
