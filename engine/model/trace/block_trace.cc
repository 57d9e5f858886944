// The kernels of a block, one work item an operation: docs/blocks.md, "Kernels".
#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "engine/base/checked_math.h"
#include "engine/model/trace/layer_trace.h"

namespace sextant {
namespace {

using Site = ActivationSite;

class BlockTrace {
 public:
  BlockTrace(const LayerTraceParts& parts, const Block& block, uint8_t input)
      : parts_(parts), out_(parts.out), block_(block) {
    tensors_.push_back(input);
    for (BlockValueId id = 1; id <= block.output(); ++id) {
      const BlockValue& value = block.value(id);
      tensors_.push_back(value.divided
                             ? out_.Make(TokenRows::kAll, value.width / out_.tensor_ranks())
                             : out_.Make(TokenRows::kSequence, value.width));
    }
  }

  uint8_t Add() {
    out_.Enter(block_.module);
    bool exchanged = !exchanges();
    for (const BlockOp& op : block_.ops) {
      const bool mixes = op.kind == BlockOpKind::kConvolve || op.kind == BlockOpKind::kCore;
      if (mixes && !exchanged) AddExchange(ProjectedBytes());
      exchanged = exchanged || mixes;
      AddOp(op);
      if (exchanges() && op.kind == LastMixing()) AddExchange(out_.bytes_of(Of(op.writes[0])));
    }
    return tensors_.back();
  }

 private:
  bool needs() const { return parts_.Needs(Site::kMixer); }
  bool exchanges() const { return out_.batch().context_parallel_size > 1; }
  BlockOpKind LastMixing() const {
    return block_.core.heads > 0 ? BlockOpKind::kCore : BlockOpKind::kConvolve;
  }
  uint8_t Of(BlockValueId id) const { return tensors_[id]; }

  TraceOperands Operands(const BlockValueIds& ids, bool gradients = false) const {
    TraceOperands out;
    for (const BlockValueId id : ids) out.Add({Of(id), gradients});
    return out;
  }

  void AddOp(const BlockOp& op) {
    switch (op.kind) {
      case BlockOpKind::kProject:
        return AddProjection(op);
      case BlockOpKind::kConvolve:
        return AddConvolution(op);
      case BlockOpKind::kNorm:
      case BlockOpKind::kMultiply:
        return AddPass(op);
      case BlockOpKind::kCore:
        return AddCore(op);
    }
  }

  void AddProjection(const BlockOp& op) {
    absl::InlinedVector<absl::string_view, 4> names;
    for (const BlockWeight& weight : op.weights) names.push_back(weight.name);
    const Site site = op.reads[0] == block_.input() ? Site::kAttentionInput : Site::kMixer;
    out_.AddProjection({.module = block_.module,
                        .op = op.name,
                        .names = names,
                        .split = block_.SplitOf(op),
                        .component = FlopsComponent::kMixer,
                        .input = Of(op.reads[0]),
                        .input_needs_gradient = parts_.Needs(site),
                        .keeps_computed = parts_.KeepsComputed(site),
                        .outputs = Operands(op.writes)});
  }

  // Reads and writes its operands once; backward also what it keeps.
  void AddPass(const BlockOp& op, double flops = 0) {
    const auto pass = [&](TracePass of, const TraceOperands& reads, const TraceOperands& writes) {
      TraceOp& out = op.kind == BlockOpKind::kNorm ? out_.RowPass(of, op.name, reads, writes)
                                                   : out_.Pass(of, op.name, reads, writes);
      SetFlops(out, FlopsComponent::kMixer, flops);
    };
    if (needs()) {
      TraceOperands reads = Operands(op.keeps);
      for (const BlockValueId id : op.writes) reads.Add({Of(id), true});
      pass(TracePass::kInputGradient, reads, Operands(op.reads, true));
    }
    pass(TracePass::kForward, Operands(op.reads), Operands(op.writes));
  }

  // A depthwise convolution multiplies each channel by its filter: 2 FLOPs a weight and token, and
  // as many for each gradient.
  void AddConvolution(const BlockOp& op) {
    const BlockWeight& filter = op.weights[0];
    const int64_t weights = filter.rows / out_.tensor_ranks() * filter.columns;
    const double flops =
        2 * static_cast<double>(weights) * static_cast<double>(out_.rows(TokenRows::kAll));
    if (parts_.gradients == nullptr || parts_.gradients->trained.Has(Site::kMixer)) {
      TraceOp& gradient = out_.Pass(TracePass::kWeightGradient, op.name,
                                    {{Of(op.reads[0])}, {Of(op.writes[0]), true}}, {});
      SetFlops(gradient, FlopsComponent::kMixer, flops);
      gradient.gradient_elements = static_cast<double>(weights);
    }
    AddPass(op, flops);
  }

  static void SetFlops(TraceOp& op, FlopsComponent component, double flops) {
    op.component = component;
    op.flops = flops;
    op.model_flops = flops;
  }

  double core_flops() const {
    return block_.core.forward_flops / static_cast<double>(out_.tensor_ranks()) *
           static_cast<double>(out_.rows(TokenRows::kAll));
  }

  // A kernel that moves the operands, and its batched products one after the other. The model asks
  // for the FLOPs of the recurrence alone, twice of them backward.
  void AddCore(const BlockOp& op) {
    TraceOperands writes = Operands(op.writes);
    if (needs()) {
      TraceOperands reads = Operands(op.keeps);
      for (const BlockValueId id : op.writes) reads.Add({Of(id), true});
      for (const bool fp32 : {false, true}) {
        const int64_t width = SavedWidth(fp32);
        if (width == 0) continue;
        const uint8_t saved =
            out_.Make(TokenRows::kAll, width, fp32 ? TraceElement::kFp32 : TraceElement::kCompute);
        writes.Add({saved});
        reads.Add({saved});
      }
      out_.AddInOrder(
          [&] { AddKernels(TracePass::kInputGradient, op, reads, Operands(op.reads, true)); });
    }
    AddKernels(TracePass::kForward, op, Operands(op.reads), writes);
  }

  // On this GPU, of the tensors in fp32 or of the others.
  int64_t SavedWidth(bool fp32) const {
    int64_t width = 0;
    for (const SavedTensor& saved : block_.core.saved) {
      if (saved.fp32 == fp32) width += CeilDivide(saved.width, out_.tensor_ranks());
    }
    return width;
  }

  void AddKernels(TracePass pass, const BlockOp& op, const TraceOperands& reads,
                  const TraceOperands& writes) {
    const BlockCore& core = block_.core;
    const bool forward = pass == TracePass::kForward;
    double model_flops = core_flops() * (forward ? 1 : 2);
    TraceOp& moved = out_.Pass(pass, op.name, reads, writes);
    SetFlops(moved, FlopsComponent::kMixerCore, core.products.empty() ? model_flops : 0);
    const int64_t ranks = out_.tensor_ranks() * out_.batch().context_parallel_size;
    const int64_t chunks = out_.batch().sequence_count * CeilDivide(out_.length(), core.chunk);
    for (const ChunkProduct& product : core.products) {
      const int times = forward ? product.forward : product.backward;
      const int64_t heads = product.by_group ? core.groups : core.heads;
      TraceOp& out = out_.Add(pass, op.name);
      const MatmulWork work = {.batch = chunks * std::max<int64_t>(heads / ranks, 1),
                               .m = product.m,
                               .n = product.n,
                               .k = product.k};
      out.work = work;
      out.launches = times;
      SetFlops(out, FlopsComponent::kMixerCore,
               2.0 * times * static_cast<double>(work.batch) * static_cast<double>(work.m) *
                   static_cast<double>(work.n) * static_cast<double>(work.k));
      out.model_flops = model_flops;
      model_flops = 0;
    }
  }

  // Context parallel ranks exchange tokens for heads, and back. Source: NVIDIA/Megatron-LM,
  // megatron/core/ssm/mamba_context_parallel.py.
  void AddExchange(double bytes) {
    const CollectiveWork work = {CollectiveKind::kAllToAll, TraceGroup::kContext, bytes};
    if (needs()) out_.Collective(TracePass::kInputGradient, "exchange_heads", work);
    out_.Collective(TracePass::kForward, "exchange_heads", work);
  }

  double ProjectedBytes() const {
    double bytes = 0;
    for (const BlockOp& op : block_.ops) {
      if (op.kind != BlockOpKind::kProject || op.writes[0] == block_.output()) continue;
      for (const BlockValueId id : op.writes) {
        if (block_.value(id).divided) bytes += out_.bytes_of(Of(id));
      }
    }
    return bytes;
  }

  const LayerTraceParts& parts_;
  TraceBuilder& out_;
  const Block& block_;
  absl::InlinedVector<uint8_t, 12> tensors_;  // by value
};

}  // namespace

uint8_t AddBlockTrace(const LayerTraceParts& parts, const Block& block, uint8_t input) {
  return BlockTrace(parts, block, input).Add();
}

}  // namespace sextant
