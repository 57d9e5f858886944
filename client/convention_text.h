// How others count a model's FLOPs, for people. Sections start with an empty line and their title.
#ifndef SEXTANT_CLIENT_CONVENTION_TEXT_H_
#define SEXTANT_CLIENT_CONVENTION_TEXT_H_

#include <string>

#include "sextant/v1/model_count.pb.h"

namespace sextant {

// Each convention beside the exact count, with what makes most of the difference; below, those
// that don't say how to count this model.
std::string ConventionsSection(const v1::ModelFlops& flops);

// Kaplan's table of forward FLOPs beside the exact count.
std::string KaplanSection(const v1::ModelFlops& flops);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CONVENTION_TEXT_H_
