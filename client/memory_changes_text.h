// What makes a run fit.
#ifndef SEXTANT_CLIENT_MEMORY_CHANGES_TEXT_H_
#define SEXTANT_CLIENT_MEMORY_CHANGES_TEXT_H_

#include <string>

#include "sextant/v1/plan.pb.h"

namespace sextant {

// Starts with an empty line and its title; "" where the run of `plan`, which has a memory
// estimate, fits for certain.
std::string ChangesSection(const v1::Plan& plan);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEMORY_CHANGES_TEXT_H_
