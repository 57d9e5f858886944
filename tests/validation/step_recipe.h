// What the recipe of a published run sets and its page does not print: NVIDIA publishes the recipes
// of its pages, by release.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_RECIPE_H_
#define SEXTANT_TESTS_VALIDATION_STEP_RECIPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/model_count.pb.h"
#include "tests/support/csv.h"

namespace sextant {

struct StepRecipe {
  absl::optional<int64_t> chunks = {};  // of layers on a stage
  absl::optional<v1::RecomputePolicy> recompute = {};
  v1::KernelChoices::Loss loss = v1::KernelChoices::LOSS_UNSPECIFIED;
  bool recomputes_activations = false;  // of feed-forwards and experts
  bool recomputes_norms = false;
  bool recomputes_latent = false;    // the up projections of latent attention
  bool flash_attention_2 = false;    // in place of cuDNN's fused attention
  bool unfused_attention = false;    // the device has no fused kernel for the heads' sizes
  bool predicts_two_tokens = false;  // with one module of multi-token prediction
  bool all_to_all = false;           // a copy of a token for each expert, not for each server
  bool overlaps_experts = false;     // their exchange with another micro-batch's passes
  // Graphs of the whole step, and of the router alone, mostly with attention.
  bool captured_graphs = false;
  bool partial_graphs = false;
  // Layers that the first and the last stage have fewer than the others.
  int64_t fewer_first = 0;
  int64_t fewer_last = 0;
};

// A recipe's place. Empty fields hold for all rows.
struct StepRecipeRule {
  absl::string_view framework;  // what column framework starts with
  absl::string_view releases;   // words, of which column source_table starts with one
  absl::string_view model;      // what column model starts with
  absl::string_view hardware;   // what column gpu_key starts with
  void (*set)(StepRecipe& out);
  absl::string_view where;  // repository, file and commit or tag
};
absl::Span<const StepRecipeRule> StepRecipeRules();

// What all rules that hold for `row` set; a default where none does.
StepRecipe StepRecipeOf(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_RECIPE_H_
