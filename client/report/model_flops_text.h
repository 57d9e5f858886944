// The FLOPs of a training step, and other conventions' counts, for people. Sections start with an
// empty line and their title.
#ifndef SEXTANT_CLIENT_REPORT_MODEL_FLOPS_TEXT_H_
#define SEXTANT_CLIENT_REPORT_MODEL_FLOPS_TEXT_H_

#include <string>

#include "sextant/v1/model_count.pb.h"

namespace sextant::client {

// By component and pass, and in total under each convention of counting masks. For a model with
// `two_stacks`, tokens are the decoder's.
std::string ModelFlopsSection(const v1::ModelFlops& flops, bool two_stacks = false);

// Each convention next to the exact count, with the largest difference; below, the conventions that
// don't define how to count this model.
std::string ConventionsSection(const v1::ModelFlops& flops);

// Kaplan's table of forward FLOPs, next to the exact count.
std::string KaplanSection(const v1::ModelFlops& flops);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_MODEL_FLOPS_TEXT_H_
