// Every figure as a line of a table, from which intervals are fitted and checked.
#ifndef SEXTANT_TESTS_VALIDATION_FIGURES_FILE_H_
#define SEXTANT_TESTS_VALIDATION_FIGURES_FILE_H_

#include <string>
#include <vector>

#include "tests/validation/answer.h"

namespace sextant {

// A measured figure and the interval predicted for it, in bytes.
struct FigureLine {
  std::string source = {};
  std::string framework = {};  // "megatron_lm"
  std::string series = {};     // of one series errors are likely to be alike
  std::string id = {};
  RequestKind request = RequestKind::kAllFields;
  MemoryDefinition definition = MemoryDefinition::kAllocated;
  bool fully_known = false;
  double measured = 0;
  double expected = 0;
  double low = 0;
  double high = 0;
};

// Figures that were measured, for each request that was answered.
std::vector<FigureLine> FigureLinesOf(const std::vector<Answer>& answers);

// The same as comma-separated values, after a line of the columns' names.
std::string FiguresCsv(const std::vector<FigureLine>& lines);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FIGURES_FILE_H_
