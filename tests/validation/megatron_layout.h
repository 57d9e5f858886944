// How a Megatron-LM run is cut over its GPUs.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_LAYOUT_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sextant/v1/model_count.pb.h"
#include "tests/validation/megatron_arguments.h"

namespace sextant {

// Errors: kInvalidArgument with the reason why it can't be described.
absl::StatusOr<v1::ParallelLayout> MegatronLayout(const MegatronArguments& arguments);

// "Et*3|(tt|)*6mL", embedding, layers, modules of multi-token prediction and loss chunk by chunk:
// how many layers each chunk has.
absl::StatusOr<std::vector<int64_t>> LayersPerChunk(const std::string& layout);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_LAYOUT_H_
