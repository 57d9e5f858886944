// Aligned tables and wrapped text, as wide as TextWidth() where they can be.
#ifndef SEXTANT_PROTO_TEXT_TABLE_H_
#define SEXTANT_PROTO_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sextant::text {

inline constexpr size_t kTextWidth = 99;  // columns: output stays under 100

// The columns that lines have at most: kTextWidth, or what SetTextWidth() was given.
size_t TextWidth();

// A program calls this before it prints, where it knows its terminal; no other thread may print
// meanwhile.
void SetTextWidth(size_t columns);

// The cell of a table where there is no value.
inline constexpr char kNoValue[] = "-";

// The bytes of the first `width` characters of `text`; never splits a character.
size_t PrefixBytes(absl::string_view text, size_t width);

// `text` in lines of at most `width`, each ended. The first starts with `first`, the others with
// `hanging` blanks. Breaks at blanks, but not before a %; a word that is longer than a line is
// broken inside.
std::string Wrap(absl::string_view first, absl::string_view text, size_t hanging,
                 size_t width = TextWidth());

enum class Align { kLeft, kRight };

// Columns two blanks apart. The last column, where it is left-aligned, wraps within itself. A line
// that is still longer than kTextWidth and TextWidth() is cut and ends in "..."; one between the
// two is left to the terminal, since what is cut may be a figure.
class Table {
 public:
  // `indent` blanks before each line.
  Table(size_t indent, std::vector<Align> columns)
      : indent_(indent), columns_(std::move(columns)) {}

  // Missing cells are empty.
  void AddRow(std::vector<std::string> cells);

  std::string Text() const;

  // Text() row by row, each of one or more lines, for callers that put text between rows.
  std::vector<std::string> RowTexts() const;

 private:
  std::vector<size_t> Widths() const;
  std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;

  size_t indent_;
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_TABLE_H_
