// The model that a Megatron-LM run trains.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_MODEL_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sextant/v1/architecture.pb.h"
#include "tests/validation/megatron_arguments.h"

namespace sextant {

// Its vocabulary is padded to make-vocab-size-divisible-by times the ranks of tensor parallelism.
// Absent arguments have Megatron-LM's defaults; `assumptions` gets what is neither given nor a
// default.
//
// Errors: kInvalidArgument with the reason why it can't be known.
absl::StatusOr<v1::Architecture> MegatronModel(const MegatronArguments& arguments, bool bert,
                                               std::vector<std::string>& assumptions);

// "moe-layer-freq": a number n (experts in layers 0, n, 2n, ...) or a Python list expression such
// as "([0]*3+[1]*12)". One entry a layer: true where it has experts.
absl::StatusOr<std::vector<bool>> ExpertLayers(const std::string& frequency, int64_t layer_count);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_MODEL_H_
