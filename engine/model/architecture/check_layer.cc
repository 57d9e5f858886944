#include "engine/model/architecture/check_layer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/names.h"
#include "engine/model/architecture/size_limits.h"

namespace sextant {
namespace {

void CheckFeedForward(const FeedForwardSpec& spec, absl::string_view path,
                      FieldViolations& violations) {
  if (spec.kind == FeedForwardKind::kUnspecified) {
    violations.Add(FieldPath(path, "kind"), "is required: write plain or gated");
  }
  violations.Require(path, "size", spec.size, 1, kMaxFeedForwardSize);
}

void CheckSharedExperts(const ExpertsSpec& e, absl::string_view path, FieldViolations& violations) {
  violations.RequireRange(path, "shared_expert_count", e.shared_expert_count, 0, kMaxExpertCount);
  if (e.shared_expert_count > 0) {
    CheckFeedForward(e.shared_expert, FieldPath(path, "shared_expert"), violations);
    return;
  }
  const std::string none = "is of no expert: give shared_expert_count, or leave it out";
  if (e.shared_expert.size != 0) violations.Add(FieldPath(path, "shared_expert"), none);
  if (e.shared_expert_gate) violations.Add(FieldPath(path, "shared_expert_gate"), none);
}

void CheckExperts(const ExpertsSpec& e, absl::string_view path, FieldViolations& violations) {
  violations.Require(path, "expert_count", e.expert_count, 1, kMaxExpertCount);
  violations.Require(path, "experts_per_token", e.experts_per_token, 1, kMaxExpertCount);
  if (e.expert_count > 0 && e.experts_per_token > e.expert_count) {
    violations.Add(FieldPath(path, "experts_per_token"),
                   absl::StrCat("must be at most expert_count (", e.expert_count, "), not ",
                                e.experts_per_token));
  }
  CheckFeedForward(e.expert, FieldPath(path, "expert"), violations);
  CheckSharedExperts(e, path, violations);
}

// A norm of a branch that the layer doesn't have would be counted, yet never run.
void CheckNorms(const LayerSpec& layer, absl::string_view path, FieldViolations& violations) {
  const bool feeds = layer.feed_forward.has_value() || layer.experts.has_value();
  const struct {
    bool norm;
    bool branch;
    absl::string_view name;
  } rules[] = {
      {layer.norms.before_attention, layer.attention.has_value(), "before_attention"},
      {layer.norms.after_attention, layer.attention.has_value(), "after_attention"},
      {layer.norms.before_cross_attention, layer.cross_attention.has_value(),
       "before_cross_attention"},
      {layer.norms.after_cross_attention, layer.cross_attention.has_value(),
       "after_cross_attention"},
      {layer.norms.before_feed_forward, feeds, "before_feed_forward"},
      {layer.norms.after_feed_forward, feeds, "after_feed_forward"},
  };
  const std::string inner = FieldPath(path, "norms");
  for (const auto& rule : rules) {
    if (rule.norm && !rule.branch) {
      violations.Add(FieldPath(inner, rule.name), "must be false: the layer has no such branch");
    }
  }
}

}  // namespace

void CheckLayer(const LayerSpec& layer, absl::string_view path, FieldViolations& violations) {
  if (layer.name.empty()) {
    violations.Add(FieldPath(path, "name"), "is required");
  } else if (!IsSoundName(layer.name)) {
    violations.Add(FieldPath(path, "name"),
                   absl::StrCat("must be at most ", kMaxNameLength, " printable ASCII characters"));
  }
  if (layer.norm == NormVariant::kUnspecified) {
    violations.Add(FieldPath(path, "norm"), "is required");
  }
  if (!layer.attention.has_value() && !layer.cross_attention.has_value() &&
      !layer.feed_forward.has_value() && !layer.experts.has_value()) {
    violations.Add(path, "is empty: give attention, cross_attention, feed_forward or experts");
  }
  if (layer.attention.has_value()) {
    CheckAttention(*layer.attention, false, FieldPath(path, "attention"), violations);
  }
  if (layer.cross_attention.has_value()) {
    CheckAttention(*layer.cross_attention, true, FieldPath(path, "cross_attention"), violations);
  }
  if (layer.feed_forward.has_value()) {
    CheckFeedForward(*layer.feed_forward, FieldPath(path, "feed_forward"), violations);
  }
  if (layer.experts.has_value()) {
    CheckExperts(*layer.experts, FieldPath(path, "experts"), violations);
  }
  CheckNorms(layer, path, violations);
}

}  // namespace sextant
