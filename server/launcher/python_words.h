// Python source as words: names, numbers, texts and marks, in logical lines.
#ifndef SEXTANT_SERVER_LAUNCHER_PYTHON_WORDS_H_
#define SEXTANT_SERVER_LAUNCHER_PYTHON_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sextant::server {

struct PythonWord {
  enum class Kind { kName, kNumber, kText, kMark };
  Kind kind = Kind::kMark;
  std::string text = {};  // of a text its content; of a formatted one ("f'...'") nothing
  bool formatted = false;
};

// A statement: what stands up to the end of a line outside of brackets.
struct PythonLine {
  int number = 0;  // of its first line, from 1
  int indent = 0;  // columns before it
  std::vector<PythonWord> words = {};
};

// Errors: kInvalidArgument, saying the line, where a text or a bracket has no end, a bracket closes
// none, or brackets are nested more than 32 deep.
absl::StatusOr<std::vector<PythonLine>> PythonLinesOf(const std::string& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_PYTHON_WORDS_H_
