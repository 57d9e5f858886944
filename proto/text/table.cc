#include "proto/text/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/text/format.h"

namespace sextant::text {
namespace {

constexpr size_t kMinWrapWidth = 14;  // a wrapped column narrower than this goes below

size_t& Width() {
  static size_t columns = kTextWidth;
  return columns;
}

size_t WidthOf(absl::string_view text) { return static_cast<size_t>(DisplayWidth(text)); }

// The words of `text`. A number and its % are one word, as in "< 0.01 %".
std::vector<std::string> WordsOf(absl::string_view text) {
  std::vector<std::string> words;
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
    const bool glued =
        !words.empty() && (absl::StartsWith(word, "%") || absl::EndsWith(words.back(), "<"));
    if (glued) {
      absl::StrAppend(&words.back(), " ", word);
    } else {
      words.emplace_back(word);
    }
  }
  return words;
}

// Cuts `line` to `width`, without trailing blanks, and ends it.
std::string EndLine(absl::string_view line, size_t width) {
  line = absl::StripTrailingAsciiWhitespace(line);
  if (WidthOf(line) <= width) return absl::StrCat(line, "\n");
  return absl::StrCat(line.substr(0, PrefixBytes(line, width - 3)), "...\n");
}

}  // namespace

size_t TextWidth() { return Width(); }

void SetTextWidth(size_t columns) { Width() = columns; }

size_t PrefixBytes(absl::string_view text, size_t width) {
  size_t bytes = 0;
  for (size_t seen = 0; bytes < text.size(); ++bytes) {
    const bool starts = (text[bytes] & 0xC0) != 0x80;
    if (starts && seen++ == width) break;
  }
  return bytes;
}

std::string Wrap(absl::string_view first, absl::string_view text, size_t hanging, size_t width) {
  const std::string margin(hanging, ' ');
  std::string out;
  std::string line(first);
  bool fresh = true;  // no word on this line yet
  const auto end_line = [&] {
    out += EndLine(line, width);
    line = margin;
    fresh = true;
  };
  for (const std::string& unbroken : WordsOf(text)) {
    absl::string_view word = unbroken;
    if (!fresh && WidthOf(line) + 1 + WidthOf(word) > width) end_line();
    if (!fresh) line += ' ';
    while (WidthOf(line) + WidthOf(word) > width && WidthOf(line) < width) {
      const size_t bytes = PrefixBytes(word, width - WidthOf(line));
      line.append(word.data(), bytes);
      word.remove_prefix(bytes);
      end_line();
    }
    line.append(word.data(), word.size());
    fresh = false;
  }
  return out + EndLine(line, width);
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  return widths;
}

std::string Table::Line(const std::vector<std::string>& cells,
                        const std::vector<size_t>& widths) const {
  const bool wraps = columns_.back() == Align::kLeft;
  std::string line(indent_, ' ');
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    if (wraps && i + 1 == cells.size()) break;
    const std::string pad(widths[i] - WidthOf(cells[i]), ' ');
    absl::StrAppend(&line, columns_[i] == Align::kRight ? pad : "", cells[i],
                    columns_[i] == Align::kLeft ? pad : "");
  }
  const size_t longest = std::max(TextWidth(), kTextWidth);
  if (!wraps || cells.back().empty()) return EndLine(line, longest);
  const size_t needed = std::min(kMinWrapWidth, widths.back());
  if (WidthOf(line) + needed <= TextWidth()) return Wrap(line, cells.back(), WidthOf(line));
  const size_t below = indent_ + 4;
  return absl::StrCat(EndLine(line, longest), Wrap(std::string(below, ' '), cells.back(), below));
}

std::vector<std::string> Table::RowTexts() const {
  const std::vector<size_t> widths = Widths();
  std::vector<std::string> texts;
  texts.reserve(rows_.size());
  for (const std::vector<std::string>& row : rows_) texts.push_back(Line(row, widths));
  return texts;
}

std::string Table::Text() const { return absl::StrJoin(RowTexts(), ""); }

}  // namespace sextant::text
