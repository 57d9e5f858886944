// The known software stacks: the constants of each, with their sources.
#ifndef SEXTANT_ENGINE_FRAMEWORK_SOFTWARE_STACK_TABLE_H_
#define SEXTANT_ENGINE_FRAMEWORK_SOFTWARE_STACK_TABLE_H_

#include "absl/types/span.h"
#include "engine/framework/software_stack.h"

namespace sextant {

// "generic" is the first.
absl::Span<const SoftwareStack> SoftwareStacks();

}  // namespace sextant

#endif  // SEXTANT_ENGINE_FRAMEWORK_SOFTWARE_STACK_TABLE_H_
