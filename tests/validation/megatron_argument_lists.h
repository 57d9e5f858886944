// Known arguments of Megatron-LM: those that the translator reads, those without effect on memory,
// and those that the engine has no field for.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_ARGUMENT_LISTS_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_ARGUMENT_LISTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

// Arguments that keep a run from being described, and why; graver reasons first.
struct ArgumentObstacle {
  absl::string_view reason;
  std::vector<absl::string_view> arguments;
};
absl::Span<const ArgumentObstacle> ArgumentObstacles();

// True where `argument` is read, or has no effect on memory. Source: the help texts and defaults of
// NVIDIA/Megatron-LM @000c4ac24f61, `megatron/training/arguments.py`.
bool IsJudged(const std::string& argument);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_ARGUMENT_LISTS_H_
