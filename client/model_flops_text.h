// The FLOPs of a training step, for people.
#ifndef SEXTANT_CLIENT_MODEL_FLOPS_TEXT_H_
#define SEXTANT_CLIENT_MODEL_FLOPS_TEXT_H_

#include <string>

#include "sextant/v1/model_count.pb.h"

namespace sextant {

// By component and pass, and in all under each convention of counting masks. Starts with an empty
// line and its title.
std::string ModelFlopsSection(const v1::ModelFlops& flops);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MODEL_FLOPS_TEXT_H_
