// Text for a terminal: never wider than kTextWidth, never steering it.
#ifndef SEXTANT_GPU_PROBE_TEXT_TABLE_H_
#define SEXTANT_GPU_PROBE_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sextant {

inline constexpr size_t kTextWidth = 99;  // columns: output stays under 100

// `text` with '?' for control characters: what a device calls itself must not steer a terminal.
std::string PrintableText(absl::string_view text);

// The first `width` characters of `text`, UTF-8 without combining or wide ones; "..." shows
// where it was cut.
std::string CutText(absl::string_view text, size_t width);

// `text` in lines of at most kTextWidth, each ended. The first keeps the blanks it starts with,
// the others start with `hanging` ones. Breaks at blanks; a word that is too long is cut.
std::string WrapText(absl::string_view text, size_t hanging);

// Columns two blanks apart, as wide as they have to be. Lines that are too long are cut.
class TextTable {
 public:
  // A heading that starts with '>' sets its column to the right, and is shown without it.
  explicit TextTable(std::vector<std::string> headings);

  // Missing cells are empty.
  void AddRow(std::vector<std::string> cells);

  // Each line two blanks in; empty where there is no row.
  std::string Text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;  // the first holds the headings
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_TEXT_TABLE_H_
