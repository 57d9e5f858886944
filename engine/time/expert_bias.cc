#include "engine/time/expert_bias.h"

#include <cstddef>
#include <variant>

namespace sextant {
namespace {

constexpr double kWide = 4;

bool HasBias(const ArchitectureSpec& spec, int layer_kind) {
  if (layer_kind < 0) return false;
  const LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(layer_kind)];
  return layer.experts.has_value() && layer.experts->expert.output_bias;
}

}  // namespace

absl::optional<TraceOp> ExpertBias(const TraceOp& product, const ArchitectureSpec& spec,
                                   int layer_kind, double element_bytes) {
  const auto* const work = std::get_if<GroupedMatmulWork>(&product.work);
  const bool forward = product.pass == TracePass::kForward;
  if (work == nullptr || product.name != "down" || !HasBias(spec, layer_kind)) return absl::nullopt;
  if (!forward && product.pass != TracePass::kInputGradient) return absl::nullopt;
  const double rows = static_cast<double>(work->experts) * work->rows_per_expert;
  const double elements = rows * static_cast<double>(forward ? work->n : work->k);
  const double e = element_bytes;
  TraceOp out = {.module = product.module, .name = "bias", .pass = product.pass};
  out.work = forward ? PassWork{.read_bytes = elements * (e + 3 * kWide),
                                .written_bytes = elements * (e + 3 * kWide)}
                     : PassWork{.read_bytes = elements * (2 * e + 5 * kWide),
                                .written_bytes = elements * (2 * e + 3 * kWide)};
  return out;
}

}  // namespace sextant
