#include "engine/search/layout_choice.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace sextant {
namespace {

template <typename Visit>
void ForEachChosenSize(Visit visit) {
  const auto visit_size = [&](const auto& each) {
    if constexpr (std::is_same_v<decltype(each), const ChosenPart<int32_t>&>) visit(each);
  };
  std::apply([&](const auto&... each) { (visit_size(each), ...); }, kChosenParts);
}

// A size of 0 is left open.
template <typename Value>
void SetField(const LayoutField& field, Value value, RunLayout& out) {
  if constexpr (std::is_same_v<Value, int32_t>) {
    if (value == 0) return;
  }
  field.set(static_cast<int64_t>(value), out);
}

template <typename Value>
void SetField(const LayoutField& field, const absl::optional<Value>& value, RunLayout& out) {
  if (value.has_value()) SetField(field, *value, out);
}

// It is of several fields: AddRecompute().
void SetField(const LayoutField&, const Recomputation&, RunLayout&) {}

// Adds `choice` to what `run` computes again.
void AddRecompute(const Recomputation& choice, JobChoice& run) {
  Recomputation& parts = run.layout.kernels.recomputation;
  if (choice.policy != RecomputePolicy::kNone) run.recompute = choice.policy;
  if (RepeatsLayers(choice.policy)) parts = {};
  if (choice.layers_per_block > 1) parts.layers_per_block = choice.layers_per_block;
  parts.norm_outputs |= choice.norm_outputs;
  parts.activation_function |= choice.activation_function;
  parts.latent_up_projections |= choice.latent_up_projections;
}

// Layers that don't divide into stages are dealt out one by one from the second stage on.
void DealLayers(const LayoutChoice& choice, int64_t layer_count, std::vector<int64_t>& out) {
  const int64_t chunks = int64_t{choice.pipeline} * choice.virtual_stages;
  if (layer_count % chunks == 0) return;
  out.assign(static_cast<size_t>(chunks), layer_count / chunks);
  const int64_t rest = layer_count % chunks;
  for (int64_t i = 1; i <= rest; ++i) ++out[static_cast<size_t>(i % chunks)];
}

}  // namespace

std::vector<UnpublishedSize> UnpublishedSizesOf(const LayoutChoice& choice) {
  constexpr absl::string_view kLayout = "layout.";
  std::vector<UnpublishedSize> out;
  ForEachChosenSize([&](const ChosenPart<int32_t>& each) {
    const int64_t size = choice.*each.value;
    if (size <= each.published.size) return;
    out.push_back({each.field->path.substr(kLayout.size()), size, each.published.size,
                   each.published.source});
  });
  return out;
}

bool IsPublished(const LayoutChoice& choice) {
  bool out = true;
  ForEachChosenSize([&](const ChosenPart<int32_t>& each) {
    out = out && choice.*each.value <= each.published.size;
  });
  return out;
}

void ApplyTo(const LayoutChoice& choice, int64_t layer_count, JobChoice& run) {
  RunLayout& layout = run.layout;
  layout.framework.searched = true;
  const auto apply = [&](const auto& each) {
    if (each.field != nullptr) SetField(*each.field, choice.*each.value, layout);
  };
  std::apply([&](const auto&... each) { (apply(each), ...); }, kChosenParts);
  if (choice.stays_gathered) layout.reshard_after_forward = false;
  if (choice.offload != Offload::kNone) {
    layout.sharding.offload_optimizer = true;
    layout.sharding.offload_parameters = choice.offload == Offload::kAll;
  }
  AddRecompute(choice.recompute, run);
  std::vector<int64_t>& layers = layout.parallel.layers_per_chunk;
  if (layers.empty()) DealLayers(choice, layer_count, layers);
}

void ApplyTo(const LayoutChoice& choice, int64_t layer_count, RunSpec& run) {
  JobChoice job = {.layout = *std::move(run.layout),
                   .recompute = run.training.recompute.value_or(RecomputePolicy::kNone)};
  ApplyTo(choice, layer_count, job);
  run.layout = std::move(job.layout);
  run.training.recompute = job.recompute;
}

}  // namespace sextant
