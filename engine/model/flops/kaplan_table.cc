#include "engine/model/flops/kaplan_table.h"

#include <initializer_list>

#include "engine/base/status_macros.h"
#include "engine/model/flops/published_shape.h"

namespace sextant {
namespace {

using Component = FlopsComponent;

Flops Forward(const StepFlops& flops, std::initializer_list<Component> components) {
  Flops sum(0);
  for (const ComponentFlops& row : flops.components) {
    for (const Component component : components) {
      if (row.component != component) continue;
      sum = sum + row.per_token[static_cast<size_t>(MaskConvention::kCausal)].forward;
    }
  }
  return sum;
}

KaplanRow TotalOf(const std::vector<KaplanRow>& rows) {
  KaplanRow total = {.operation = "total (non-embedding)",
                     .formula = "2 N + 2 n_layer n_ctx d_attn",
                     .difference = "none but the output head, which it says it leaves out"};
  for (size_t i = 1; i + 1 < rows.size(); ++i) {
    total.per_token = total.per_token + rows[i].per_token;
    total.exact = total.exact + rows[i].exact;
  }
  return total;
}

}  // namespace

absl::StatusOr<std::vector<KaplanRow>> KaplanTable(const ConventionInput& input) {
  SEXTANT_ASSIGN_OR_RETURN(const PublishedShape p, PublishedShapeOf(input.spec, input.step, {}));
  const StepFlops& flops = input.flops;
  std::vector<KaplanRow> rows = {
      {"embed", "4 d_model", Flops(4 * p.hidden), Flops(0),
       "a lookup and a sum with a position are no products"},
      {"attention: QKV", "2 n_layer d_model 3 d_attn",
       Flops(6 * p.layers * p.hidden * p.attention()),
       Forward(flops, {Component::kAttentionQueryKeyValue}), "none"},
      {"attention: mask", "2 n_layer n_ctx d_attn", Flops(2 * p.layers * p.length * p.attention()),
       Forward(flops, {Component::kAttentionScores, Component::kAttentionValues}),
       "none as both products under half a mask; or it is the scores alone, unmasked"},
      {"attention: project", "2 n_layer d_attn d_embd",
       Flops(2 * p.layers * p.attention() * p.hidden),
       Forward(flops, {Component::kAttentionOutput}), "none"},
      {"feed-forward", "2 n_layer 2 d_model d_ff", Flops(4 * p.layers * p.hidden * p.feed_forward),
       Forward(flops, {Component::kDenseFeedForward}), "none"},
      {"de-embed", "2 d_model n_vocab", Flops(2 * p.hidden * p.vocabulary),
       Forward(flops, {Component::kOutputHead}), "none, but the total leaves it out"}};
  rows.push_back(TotalOf(rows));
  return rows;
}

}  // namespace sextant
