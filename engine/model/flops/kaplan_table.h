// Table 1 of Kaplan et al. 2020, row by row, beside the exact count.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_KAPLAN_TABLE_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_KAPLAN_TABLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/model/flops/flops_by_convention.h"

namespace sextant {

struct KaplanRow {
  absl::string_view operation;   // "attention: mask"
  absl::string_view formula;     // "2 n_layer n_ctx d_attn"
  Flops per_token = {};          // forward, by the formula
  Flops exact = {};              // forward, exact_causal
  absl::string_view difference;  // where it comes from
};

// The six rows of the table and its total, which leaves out the first and the last of them.
// Errors: kFailedPrecondition, its message saying what the table leaves undefined.
absl::StatusOr<std::vector<KaplanRow>> KaplanTable(const ConventionInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_KAPLAN_TABLE_H_
