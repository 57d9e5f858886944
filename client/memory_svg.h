// Memory by pipeline stage as a drawing.
#ifndef SEXTANT_CLIENT_MEMORY_SVG_H_
#define SEXTANT_CLIENT_MEMORY_SVG_H_

#include <string>

#include "sextant/v1/plan.pb.h"

namespace sextant {

// An SVG document: a stacked bar a stage, or run of equal ones, with what is usable and what is
// estimated. `plan` has a memory estimate with a stage.
std::string MemorySvg(const v1::Plan& plan);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEMORY_SVG_H_
