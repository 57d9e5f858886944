// Requires of an answer what has to hold of every answer.
#ifndef SEXTANT_TESTS_FUZZ_POSSIBLE_ANSWER_H_
#define SEXTANT_TESTS_FUZZ_POSSIBLE_ANSWER_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/possible_figures.h"

namespace sextant {

// Aborts where a figure of `answer` is impossible.
inline void RequirePossible(const google::protobuf::Message& answer) {
  const std::vector<std::string> found = ImpossibleFigures(answer);
  Require(found.empty(), answer.GetTypeName() + ": " + absl::StrJoin(found, "; "));
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_FUZZ_POSSIBLE_ANSWER_H_
