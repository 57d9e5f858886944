// The FLOPs of a training step, for people.
#ifndef SEXTANT_CLIENT_MODEL_FLOPS_TEXT_H_
#define SEXTANT_CLIENT_MODEL_FLOPS_TEXT_H_

#include <string>

#include "sextant/v1/model_count.pb.h"

namespace sextant {

// By component and pass, and in all under each convention of counting masks. Starts with an empty
// line and its title. Of a model with `two_stacks`, tokens are the decoder's.
std::string ModelFlopsSection(const v1::ModelFlops& flops, bool two_stacks = false);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MODEL_FLOPS_TEXT_H_
