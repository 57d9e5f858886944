#include "engine/model/trace/attention_core_trace.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "engine/model/flops/attended_length.h"
#include "engine/model/trace/head_exchange_trace.h"

namespace sextant {
namespace {

using Site = ActivationSite;
using Element = TraceElement;

class AttentionCore {
 public:
  explicit AttentionCore(const AttentionCoreTrace& core)
      : core_(core), spec_(core.attention), out_(core.parts.out), exchange_(core) {}

  void Add() {
    exchange_.AddInputs();
    if (out_.batch().attention == AttentionKernel::kFlash) {
      AddFusedCore();
    } else {
      AddUnfusedCore();
    }
    exchange_.AddOutput();
  }

 private:
  bool Needs(Site site) const { return core_.parts.Needs(SiteIn(core_.cross, site)); }
  // Context parallel ranks that each have a part of the heads, or of the tokens.
  int64_t head_ranks() const {
    return ExchangesHeads(out_.batch()) ? out_.batch().context_parallel_size : 1;
  }
  int64_t token_ranks() const { return out_.batch().context_parallel_size / head_ranks(); }
  // Heads of one kernel.
  int64_t heads() const { return core_.heads / head_ranks(); }
  int64_t key_value_heads() const {
    return AttendedKeyHeads(spec_, out_.context().layout, out_.batch()) / head_ranks();
  }

  // Pairs of a query and a key that the mask shows, on this GPU, of one head.
  double Pairs() const {
    const MicroBatchSpec& batch = out_.batch();
    const auto sequences = static_cast<double>(batch.sequence_count);
    const auto ranks = static_cast<double>(batch.context_parallel_size);
    if (core_.cross) {
      return sequences * static_cast<double>(out_.length()) *
             static_cast<double>(core_.key_length) / ranks;
    }
    return sequences * VisiblePairs(spec_, out_.length(), MaskConvention::kCausalDiagonal) / ranks;
  }
  double ScoreFlops() const {
    return 2 * static_cast<double>(core_.heads * spec_.query_key_head_size) * Pairs();
  }
  double ValueFlops() const {
    return 2 * static_cast<double>(core_.heads * spec_.value_head_size) * Pairs();
  }

  AttentionWork Block(int64_t batch, int64_t queries, int64_t keys) const {
    return {.batch = batch,
            .queries = queries,
            .keys = keys,
            .heads = heads(),
            .key_value_heads = key_value_heads(),
            .query_key_head_size = spec_.query_key_head_size,
            .value_head_size = spec_.value_head_size};
  }

  // The kernels of one pass over `length` tokens a sequence. A context parallel rank computes its
  // own block of tokens, then those of the other ranks as they pass by: under a causal mask, half
  // of each. Source: docs/step_time.md, "Context parallelism".
  template <typename AddBlock>
  void ForEachBlock(const AddBlock& add) const {
    const int64_t sequences = out_.batch().sequence_count;
    const int64_t ranks = token_ranks();
    const int64_t own = out_.length() / ranks;
    const bool causal = spec_.mask == AttentionMask::kCausal && !core_.cross;
    AttentionWork block = Block(sequences, own, core_.key_length / ranks);
    block.causal = causal;
    if (spec_.chunk > 0 && spec_.chunk < own && !core_.cross) {
      return ForEachChunk(block, add);
    }
    if (spec_.window > 0 && spec_.window < core_.key_length && !core_.cross) {
      block.keys = std::min(core_.key_length, ranks > 1 ? own + spec_.window : own);
      block.window = spec_.window;
      return add(block, 1);
    }
    add(block, 1);
    if (ranks == 1) return;
    const int64_t keys = causal ? std::max<int64_t>(block.keys / 2, 1) : block.keys;
    add(Block(sequences, own, keys), ranks - 1);
  }

  template <typename AddBlock>
  void ForEachChunk(AttentionWork block, const AddBlock& add) const {
    const int64_t whole = block.queries / spec_.chunk;
    const int64_t rest = block.queries % spec_.chunk;
    const int64_t sequences = block.batch;
    block.batch = sequences * whole;
    block.queries = block.keys = spec_.chunk;
    add(block, 1);
    if (rest == 0) return;
    block.batch = sequences;
    block.queries = block.keys = rest;
    add(block, 1);
  }

  // The blocks share the FLOPs of the pass by their pairs.
  void AddCore(TracePass pass, double flops, const TraceOperands& reads,
               const TraceOperands& writes) {
    struct Part {
      AttentionWork work;
      int64_t launches;
      double pairs;
    };
    absl::InlinedVector<Part, 2> parts;
    double all = 0;
    ForEachBlock([&](const AttentionWork& block, int64_t launches) {
      const double square = static_cast<double>(block.batch) * static_cast<double>(block.queries) *
                            static_cast<double>(block.keys);
      const double pairs = square * static_cast<double>(launches) * (block.causal ? 0.5 : 1);
      parts.push_back({block, launches, pairs});
      all += pairs;
    });
    for (size_t i = 0; i < parts.size(); ++i) {
      TraceOp& op = out_.Add(pass, "core");
      op.work = parts[i].work;
      op.launches = parts[i].launches;
      op.component = FlopsComponent::kAttentionScores;
      // Whole FLOPs, so that the parts add up exactly.
      op.flops = i + 1 < parts.size() ? std::floor(flops * (parts[i].pairs / all)) : flops;
      op.model_flops = op.flops;
      flops -= op.flops;
      all -= parts[i].pairs;
      if (i > 0) continue;
      op.reads = reads;
      op.writes = writes;
    }
  }

  void AddRing(TracePass pass, double tensors) {
    if (token_ranks() == 1) return;
    const double bytes = static_cast<double>(core_.key_tokens * core_.key_value_heads) *
                         static_cast<double>(spec_.query_key_head_size + spec_.value_head_size) *
                         tensors * static_cast<double>(out_.element_bytes(Element::kCompute));
    out_.Collective(pass, "ring", {CollectiveKind::kRing, TraceGroup::kContext, bytes});
  }

  double GradientFlops() const {
    return ScoreFlops() * (Needs(Site::kQuery) + Needs(Site::kKey)) +
           ValueFlops() * (Needs(Site::kValue) + Needs(Site::kScores));
  }

  bool core_again() const {
    return out_.batch().recomputation.policy == RecomputePolicy::kSelective && Needs(Site::kHeads);
  }

  // Source: Dao et al. 2022 (arXiv 2205.14135) section 3.1: the backward pass reads the output and
  // one number for each row of scores.
  void AddFusedCore() {
    const uint8_t query = exchange_.query();
    const uint8_t key = exchange_.key();
    const uint8_t value = exchange_.value();
    const TraceOperands operands = {{query}, {key}, {value}};
    uint8_t statistics = out_.Make(TokenRows::kAll, core_.heads, Element::kFp32);
    AddRing(TracePass::kForward, 1);
    AddCore(TracePass::kForward, ScoreFlops() + ValueFlops(), operands,
            {{exchange_.output()}, {statistics}});
    if (!Needs(Site::kHeads)) return;
    uint8_t output = exchange_.output();
    uint8_t kept = core_.output;
    if (core_again()) {
      output = MakeOutput();
      statistics = out_.Make(TokenRows::kAll, core_.heads, Element::kFp32);
    }
    const bool forth = ExchangesOutputAgain(out_.batch());
    const uint8_t read = forth ? MakeOutput() : output;
    if (forth && core_again()) kept = MakeOutput();
    AddRing(TracePass::kInputGradient, 2);
    AddCore(TracePass::kInputGradient, GradientFlops(),
            {{query}, {key}, {value}, {read}, {statistics}, {exchange_.output(), true}},
            {{query, true}, {key, true}, {value, true}});
    out_.AddInOrder([&] {
      if (core_again()) {
        if (forth) exchange_.AddInputsAgain();
        AddRing(TracePass::kRecompute, 1);
        AddCore(TracePass::kRecompute, ScoreFlops() + ValueFlops(), operands,
                {{output}, {statistics}});
        if (forth) exchange_.AddOutputBack(output, kept);
      }
      if (forth) exchange_.AddOutputForth(kept, read);
    });
  }
  uint8_t MakeOutput() { return out_.Make(TokenRows::kAll, core_.heads * spec_.value_head_size); }

  struct CoreProduct {
    absl::string_view name;
    int64_t n = 0;
    int64_t k = 0;
    double model_flops = 0;
    TraceOperands reads = {};
    TraceOperands writes = {};
  };
  void AddCoreProduct(TracePass pass, const CoreProduct& product, bool transposed = false) {
    const MicroBatchSpec& batch = out_.batch();
    // The queries of a group read the same keys: they are stacked.
    MatmulWork work = {.batch = batch.sequence_count * key_value_heads(),
                       .m = out_.length() / token_ranks() * (heads() / key_value_heads()),
                       .n = product.n,
                       .k = product.k};
    if (transposed) std::swap(work.m, work.k);
    TraceOp& op = out_.Add(pass, product.name);
    op.work = work;
    op.component = FlopsComponent::kAttentionScores;
    op.flops = 2 * static_cast<double>(work.batch) * static_cast<double>(work.m) *
               static_cast<double>(work.n) * static_cast<double>(work.k);
    op.model_flops = product.model_flops;
    op.reads = product.reads;
    op.writes = product.writes;
  }

  // Two batched products with a softmax between them, over all pairs, masked ones included.
  // Source: docs/kernels_attention.md, "Attention in separate kernels".
  void AddUnfusedCore() {
    const bool dropout = out_.batch().dropout;
    const uint8_t softmax = out_.Make(TokenRows::kAll, core_.heads * core_.key_length);
    const uint8_t mask =
        dropout ? out_.Make(TokenRows::kAll, core_.heads * core_.key_length, Element::kMask)
                : uint8_t{0};
    const uint8_t dropped =
        dropout ? out_.Make(TokenRows::kAll, core_.heads * core_.key_length) : softmax;
    const auto forward = [&](TracePass pass) {
      const bool again = pass == TracePass::kRecompute;  // its heads are kept
      AddCoreProduct(pass, {.name = "scores",
                            .n = core_.key_length,
                            .k = spec_.query_key_head_size,
                            .model_flops = ScoreFlops(),
                            .reads = {{exchange_.query()}, {exchange_.key()}}});
      out_.RowPass(pass, "softmax", {{softmax}}, {{softmax}}).reads = {};
      if (dropout) out_.Pass(pass, "softmax_dropout", {{softmax}}, {{dropped}, {mask}});
      AddCoreProduct(pass,
                     {.name = "values",
                      .n = spec_.value_head_size,
                      .k = core_.key_length,
                      .model_flops = ValueFlops(),
                      .reads = {{dropped}, {exchange_.value()}},
                      .writes = again ? TraceOperands() : TraceOperands{{exchange_.output()}}});
    };
    forward(TracePass::kForward);
    AddUnfusedBackward({softmax, mask, dropped});
    if (core_again()) out_.AddInOrder([&] { forward(TracePass::kRecompute); });
  }

  struct Scores {
    uint8_t softmax;
    uint8_t mask;
    uint8_t dropped;
  };

  // dV = P^T dO, dP = dO V^T, dQ = dS K, dK = dS^T Q. Listed in reverse.
  void AddUnfusedBackward(const Scores& scores) {
    const TracePass pass = TracePass::kInputGradient;
    const uint8_t query = exchange_.query();
    const uint8_t key = exchange_.key();
    if (Needs(Site::kKey)) AddScoreGradient("key_gradient", scores, query, key, true);
    if (Needs(Site::kQuery)) AddScoreGradient("query_gradient", scores, key, query, false);
    if (Needs(Site::kScores)) {
      out_.RowPass(pass, "softmax", {{scores.softmax}, {scores.softmax, true}},
                   {{scores.softmax, true}});
      if (out_.batch().dropout) {
        out_.Pass(pass, "softmax_dropout", {{scores.mask}, {scores.dropped, true}},
                  {{scores.softmax, true}});
      }
      AddCoreProduct(pass, {.name = "softmax_gradient",
                            .n = core_.key_length,
                            .k = spec_.value_head_size,
                            .model_flops = ValueFlops(),
                            .reads = {{exchange_.value()}, {exchange_.output(), true}},
                            .writes = {{scores.dropped, true}}});
    }
    if (!Needs(Site::kValue)) return;
    AddCoreProduct(pass,
                   {.name = "value_gradient",
                    .n = spec_.value_head_size,
                    .k = core_.key_length,
                    .model_flops = ValueFlops(),
                    .reads = {{scores.dropped}, {exchange_.output(), true}},
                    .writes = {{exchange_.value(), true}}},
                   true);
  }

  // The product of the scores' gradient with `operand`, which is the gradient of `to`.
  void AddScoreGradient(absl::string_view name, const Scores& scores, uint8_t operand, uint8_t to,
                        bool transposed) {
    AddCoreProduct(TracePass::kInputGradient,
                   {.name = name,
                    .n = spec_.query_key_head_size,
                    .k = core_.key_length,
                    .model_flops = ScoreFlops(),
                    .reads = {{operand}, {scores.softmax, true}},
                    .writes = {{to, true}}},
                   transposed);
  }

  const AttentionCoreTrace& core_;
  const AttentionSpec& spec_;
  TraceBuilder& out_;
  HeadExchange exchange_;
};

}  // namespace

void AddAttentionCore(const AttentionCoreTrace& core) { AttentionCore(core).Add(); }

}  // namespace sextant
