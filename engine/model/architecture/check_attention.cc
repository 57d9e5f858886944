#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_layer.h"
#include "engine/model/architecture/size_limits.h"

namespace sextant {
namespace {

void CheckHeads(const AttentionSpec& a, absl::string_view path, FieldViolations& violations) {
  violations.Require(path, "head_count", a.head_count, 1, kMaxHeadCount);
  violations.Require(path, "key_value_head_count", a.key_value_head_count, 1, kMaxHeadCount);
  violations.Require(path, "query_key_head_size", a.query_key_head_size, 1, kMaxHeadSize);
  violations.Require(path, "value_head_size", a.value_head_size, 1, kMaxHeadSize);
  if (a.head_count > 0 && a.key_value_head_count > 0 &&
      a.head_count % a.key_value_head_count != 0) {
    violations.Add(FieldPath(path, "key_value_head_count"),
                   absl::StrCat("must divide head_count (", a.head_count, "), which ",
                                a.key_value_head_count, " does not"));
  }
}

void CheckLatent(const AttentionSpec& a, absl::string_view path, FieldViolations& violations) {
  const LatentSpec& latent = *a.latent;
  const std::string inner = FieldPath(path, "latent");
  violations.RequireRange(inner, "query_rank", latent.query_rank, 0, kMaxHiddenSize);
  violations.Require(inner, "key_value_rank", latent.key_value_rank, 1, kMaxHiddenSize);
  if (a.query_key_head_size > 0 &&
      (latent.rotary_size < 0 || latent.rotary_size >= a.query_key_head_size)) {
    violations.Add(FieldPath(inner, "rotary_size"),
                   absl::StrCat("must be 0 to ", a.query_key_head_size - 1,
                                ", below query_key_head_size, not ", latent.rotary_size));
  }
  if (a.key_value_head_count != a.head_count) {
    violations.Add(
        FieldPath(path, "key_value_head_count"),
        absl::StrCat("must be head_count (", a.head_count,
                     "), since a latent is expanded for every head, not ", a.key_value_head_count));
  }
  if (a.query_bias || a.key_bias || a.value_bias) {
    violations.Add(inner, "has no biases of query, key and value: write latent.down_bias");
  }
  if (a.query_key_norm != QueryKeyNorm::kNone) {
    violations.Add(FieldPath(path, "query_key_norm"),
                   "must be none: latent attention normalises its latents");
  }
}

void CheckMask(const AttentionSpec& a, bool cross, absl::string_view path,
               FieldViolations& violations) {
  // 0 is none.
  if (a.window != 0) violations.RequireRange(path, "window", a.window, 1, kMaxSpan);
  if (a.chunk != 0) violations.RequireRange(path, "chunk", a.chunk, 1, kMaxSpan);
  if (a.window > 0 && a.chunk > 0) {
    violations.Add(FieldPath(path, "chunk"), "can't be given beside a window: write one of them");
  }
  if (!cross) return;
  if (a.mask != AttentionMask::kFull || a.window != 0 || a.chunk != 0) {
    violations.Add(FieldPath(path, "mask"),
                   "must be full, without window or chunk: all of the encoder's output is seen");
  }
  if (a.latent.has_value()) {
    violations.Add(FieldPath(path, "latent"), "is not known in cross attention");
  }
}

}  // namespace

void CheckAttention(const AttentionSpec& a, bool cross, absl::string_view path,
                    FieldViolations& violations) {
  CheckHeads(a, path, violations);
  if (a.latent.has_value()) CheckLatent(a, path, violations);
  if (a.query_key_norm == QueryKeyNorm::kNone &&
      a.query_key_norm_variant != NormVariant::kUnspecified) {
    violations.Add(FieldPath(path, "query_key_norm_variant"),
                   "is of no norm: give query_key_norm, or leave it out");
  }
  CheckMask(a, cross, path, violations);
}

}  // namespace sextant
