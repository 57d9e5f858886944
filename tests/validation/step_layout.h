// The layout, batch and kernels of a row that is timed.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_LAYOUT_H_
#define SEXTANT_TESTS_VALIDATION_STEP_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/support/csv.h"
#include "tests/validation/step_model.h"
#include "tests/validation/step_recipe.h"
#include "tests/validation/step_row.h"
#include "tests/validation/step_software.h"

namespace sextant {

struct StepLayoutSource {
  const CsvRow* row = nullptr;
  const StepModel* model = nullptr;
  const StepSoftware* software = nullptr;
  StepRecipe recipe = {};
};

// The sizes by the columns; of blank ones the data parallel size follows from the others, and a
// micro-batch is one sequence. Adds what the row doesn't publish to `open`.
//
// Errors: kInvalidArgument where a size isn't published or the devices aren't their product.
absl::StatusOr<StepLayout> StepLayoutOf(const StepLayoutSource& source,
                                        std::vector<std::string>& open);

// Sets out.layout, and the batch. Layers are the recipe's, or even, or an embedding at either end
// counts as one, or the first chunks have one more.
void SetStepLayout(const StepLayoutSource& source, const StepLayout& layout,
                   v1::PlanRunRequest& out);

// Chunks of layers on a stage where a page leaves them blank: as many as divide the layers, else
// the layers and an embedding at either end; at most 12.
int64_t BlankChunks(int64_t layer_count, int64_t stages);

// Layers of each of `chunks` chunks.
std::vector<int64_t> LayersPerChunk(int64_t layer_count, int64_t chunks);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_LAYOUT_H_
