#include "engine/search/choice_order.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <tuple>

namespace sextant {
namespace {

bool IsSubset(const RecomputeChoice& a, const RecomputeChoice& b) {
  return a.attention_core <= b.attention_core && a.norm_outputs <= b.norm_outputs &&
         a.activation_function <= b.activation_function &&
         a.latent_projections <= b.latent_projections;
}

// Recomputes at most what `b` does, so that it keeps at least as much.
bool KeepsMore(const RecomputeChoice& a, const RecomputeChoice& b) {
  if (a.full) return b.full && a.layers_per_block == b.layers_per_block;
  return b.full || IsSubset(a, b);
}

// Larger for layouts that are likely to take less memory.
auto ThriftOf(const LayoutChoice& of) {
  return std::make_tuple(-of.micro_batch, of.recompute.full, of.recompute, of.zero_stage,
                         of.offload, of.sequence_parallel, !of.stays_gathered, -of.shard_group);
}

// Smaller for the better samples of a group. Micro-batches of at least 2,048 tokens, all parts
// computed again but not whole layers, and state that is divided, but not gathered for each
// micro-batch, or within servers.
auto SampleOrderOf(const LayoutChoice& of, int64_t tokens) {
  const int parts = of.recompute.attention_core + of.recompute.norm_outputs +
                    of.recompute.activation_function + of.recompute.latent_projections;
  const int state = of.zero_stage == ZeroStage::kParameters ? -1 : static_cast<int>(of.zero_stage);
  return std::make_tuple(of.recompute.full, tokens < 2048,
                         of.micro_batch * (tokens < 2048 ? -1 : 1), -parts, -state, of.offload,
                         !of.sequence_parallel, of.stays_gathered, of.shard_group);
}

int DoublingsBetween(int32_t a, int32_t b) {
  int out = 0;
  for (int32_t low = std::min(a, b); low < std::max(a, b); low *= 2) ++out;
  return out;
}

}  // namespace

bool TakesMore(const LayoutChoice& a, const LayoutChoice& b) {
  return a.micro_batch >= b.micro_batch && KeepsMore(a.recompute, b.recompute) &&
         a.sequence_parallel <= b.sequence_parallel && a.zero_stage <= b.zero_stage &&
         a.stays_gathered >= b.stays_gathered && a.shard_group == b.shard_group &&
         a.offload <= b.offload;
}

bool IsThriftier(const LayoutChoice& a, const LayoutChoice& b) { return ThriftOf(a) > ThriftOf(b); }

bool IsBetterSample(const LayoutChoice& a, const LayoutChoice& b, int64_t sequence_length) {
  const auto order = [sequence_length](const LayoutChoice& of) {
    return SampleOrderOf(of, of.micro_batch * sequence_length / of.context);
  };
  return order(a) < order(b);
}

int DistanceOf(const LayoutChoice& a, const LayoutChoice& b) {
  const bool same_state = a.zero_stage == b.zero_stage && a.shard_group == b.shard_group &&
                          a.stays_gathered == b.stays_gathered && a.offload == b.offload;
  return DoublingsBetween(a.micro_batch, b.micro_batch) + (a.recompute == b.recompute ? 0 : 1) +
         (a.sequence_parallel == b.sequence_parallel ? 0 : 1) + (same_state ? 0 : 1);
}

bool IsNear(const LayoutChoice& a, const LayoutChoice& b) {
  const auto each = [](const LayoutChoice& of) {
    return of.expert_tensor == 0 ? of.tensor : of.expert_tensor;
  };
  const bool differ[] = {
      a.tensor != b.tensor || a.context != b.context,
      a.pipeline != b.pipeline || a.virtual_stages != b.virtual_stages,
      a.expert != b.expert || (each(a) != each(b) && a.expert_tensor != b.expert_tensor),
      a.schedule != b.schedule,
      a.kernels != b.kernels,
  };
  return std::count(std::begin(differ), std::end(differ), true) == 1;
}

}  // namespace sextant
