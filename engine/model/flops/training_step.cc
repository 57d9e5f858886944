#include "engine/model/flops/training_step.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/model/flops/saved_products.h"

namespace sextant {
namespace {

// Low enough that the pairs of tokens of a step fit in 128 bits, and its FLOPs in a double.
constexpr int64_t kMaxLength = 1'000'000'000;
constexpr int64_t kMaxSequences = 1'000'000'000'000;  // of a group
constexpr int64_t kMaxTokens = 1'000'000'000'000'000'000;
constexpr int64_t kMaxGroups = 65536;
constexpr int64_t kMaxGroupsTimesKinds = 10'000'000;  // each kind of attention times each group
constexpr double kMaxCapacityFactor = 1e6;

// A learned table of positions limits the length by its rows. The stack may be unchecked.
int64_t MaxLength(const StackSpec& stack) {
  const int64_t rows = stack.learned_position_count;
  if (rows <= 0) return kMaxLength;
  const int64_t first = std::clamp<int64_t>(stack.first_position, 0, rows - 1);
  return std::min(rows - first, kMaxLength);
}

void CheckGroup(const SequenceGroup& group, const ArchitectureSpec& spec, absl::string_view path,
                FieldViolations& violations) {
  const bool two_stacks = !spec.encoder.layers.empty() && !spec.decoder.layers.empty();
  const StackSpec& output = spec.decoder.layers.empty() ? spec.encoder : spec.decoder;
  violations.Require(path, "count", group.count, 1, kMaxSequences);
  violations.Require(path, "length", group.length, 1, MaxLength(output));
  if (two_stacks) {
    violations.Require(path, "encoder_length", group.encoder_length, 1, MaxLength(spec.encoder));
  } else if (group.encoder_length != 0) {
    violations.Add(FieldPath(path, "encoder_length"),
                   "is of a model with an encoder and a decoder: leave it out");
  }
}

void CheckTokens(const TrainingStepSpec& step, absl::string_view path,
                 FieldViolations& violations) {
  CheckedInt tokens(0);
  CheckedInt encoder_tokens(0);
  for (const SequenceGroup& group : step.sequences) {
    tokens = tokens + CheckedInt(group.count) * group.length;
    encoder_tokens = encoder_tokens + CheckedInt(group.count) * group.encoder_length;
  }
  for (const CheckedInt& sum : {tokens, encoder_tokens}) {
    if (sum.ok() && sum.value() <= kMaxTokens) continue;
    violations.Add(path, absl::StrCat("are more than ", kMaxTokens, " tokens"));
    return;
  }
}

bool HasExperts(const ArchitectureSpec& spec) {
  return std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                     [](const LayerSpec& layer) { return layer.experts.has_value(); });
}

void CheckSequences(const TrainingStepSpec& step, const ArchitectureSpec& spec,
                    absl::string_view path, FieldViolations& violations) {
  const auto groups = static_cast<int64_t>(step.sequences.size());
  if (groups < 1) {
    violations.Add(path, "are required: write at least one, with its length");
    return;
  }
  if (groups > kMaxGroups) {
    violations.Add(path, absl::StrCat("must be at most ", kMaxGroups, " groups, not ", groups));
    return;
  }
  if (groups * static_cast<int64_t>(spec.layer_kinds.size()) > kMaxGroupsTimesKinds) {
    violations.Add(path, absl::StrCat("are too many for a model of ", spec.layer_kinds.size(),
                                      " kinds of layers: groups times kinds must be at most ",
                                      kMaxGroupsTimesKinds));
    return;
  }
  const size_t faults = violations.found_count();
  for (size_t i = 0; i < step.sequences.size(); ++i) {
    CheckGroup(step.sequences[i], spec, absl::StrCat(path, "[", i, "]"), violations);
  }
  if (violations.found_count() == faults) CheckTokens(step, path, violations);
}

void CheckRecompute(const TrainingStepSpec& step, const ArchitectureSpec& spec,
                    absl::string_view path, FieldViolations& violations) {
  if (step.recompute != RecomputePolicy::kOperators) return;
  const absl::string_view part = PartOfUnknownOperators(spec);
  if (part.empty()) return;
  violations.Add(FieldPath(path, "recompute"),
                 absl::StrCat("has no list of the operators of ", part,
                              ", which the model has: choose NONE, SELECTIVE or FULL"));
}

}  // namespace

absl::string_view RecomputePolicyName(RecomputePolicy policy) {
  constexpr absl::string_view kNames[] = {"none", "selective", "full", "operators"};
  return kNames[static_cast<size_t>(policy)];
}

void CheckTrainingStep(const TrainingStepSpec& step, const ArchitectureSpec& spec,
                       absl::string_view path, FieldViolations& violations) {
  CheckSequences(step, spec, FieldPath(path, "sequences"), violations);
  CheckRecompute(step, spec, path, violations);
  if (!step.expert_capacity_factor.has_value()) return;
  if (!HasExperts(spec)) {
    violations.Add(FieldPath(path, "expert_capacity_factor"),
                   "is of a mixture of experts: leave it out");
    return;
  }
  violations.RequireRange(path, "expert_capacity_factor", *step.expert_capacity_factor,
                          {.low = 0, .high = kMaxCapacityFactor, .above_low = true});
}

}  // namespace sextant
