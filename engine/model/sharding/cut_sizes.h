// The sizes of a model that its parallel sizes have to divide.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_CUT_SIZES_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_CUT_SIZES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// `size` elements of `what`, in the words of a message: "attention.head_count of dense".
struct CutSize {
  int64_t size;
  std::string what;
  bool shared = false;  // ranks beyond `size` may share: a multiple of it will do as well
};

using CutSizes = std::vector<CutSize>;

// What tensor parallelism cuts, but for the vocabulary and experts; what expert parallelism deals
// out; what expert tensor parallelism cuts. The latter two are empty for a model without experts.
CutSizes TensorCuts(const ArchitectureSpec& spec, bool split_key_value_heads);
CutSizes ExpertCuts(const ArchitectureSpec& spec);
CutSizes ExpertTensorCuts(const ArchitectureSpec& spec);

// Of all attentions that have such, which latent ones don't; 0: none has.
int64_t FewestKeyValueHeads(const ArchitectureSpec& spec);

// The first of `cuts` that `ranks` doesn't divide; null if there is none.
const CutSize* FirstUndivided(const CutSizes& cuts, int64_t ranks);

// The largest number below `ranks` that divides all of `cuts`; 1 does in any case.
int64_t NearestDivisor(const CutSizes& cuts, int64_t ranks);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_CUT_SIZES_H_
