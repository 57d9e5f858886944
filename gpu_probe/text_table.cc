#include "gpu_probe/text_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant {
namespace {

// Every byte but UTF-8's continuation bytes (10xxxxxx) starts a character.
bool StartsCharacter(char byte) { return (byte & 0xC0) != 0x80; }

size_t WidthOf(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

}  // namespace

std::string PrintableText(absl::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = '?';
  }
  return out;
}

std::string CutText(absl::string_view text, size_t width) {
  if (WidthOf(text) <= width) return std::string(text);
  size_t bytes = 0;
  for (size_t seen = 0; bytes < text.size(); ++bytes) {
    if (StartsCharacter(text[bytes]) && seen++ == width - 3) break;
  }
  return absl::StrCat(text.substr(0, bytes), "...");
}

std::string WrapText(absl::string_view text, size_t hanging) {
  std::string out;
  std::string line(text.substr(0, std::min(text.find_first_not_of(' '), text.size())));
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const bool fresh = absl::StripAsciiWhitespace(line).empty();
    if (!fresh && WidthOf(line) + 1 + WidthOf(word) > kTextWidth) {
      absl::StrAppend(&out, CutText(line, kTextWidth), "\n");
      line = absl::StrCat(std::string(hanging, ' '), word);
    } else {
      absl::StrAppend(&line, fresh ? "" : " ", word);
    }
  }
  return absl::StrCat(out, CutText(line, kTextWidth), "\n");
}

TextTable::TextTable(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    right_.push_back(!heading.empty() && heading.front() == '>');
    if (right_.back()) heading.erase(0, 1);
  }
  rows_.push_back(std::move(headings));
}

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(right_.size());
  for (std::string& cell : cells) cell = PrintableText(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::Text() const {
  if (rows_.size() == 1) return "";
  std::vector<size_t> widths(right_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  std::string out;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - WidthOf(row[i]), ' ');
      absl::StrAppend(&line, "  ", right_[i] ? pad : "", row[i], right_[i] ? "" : pad);
    }
    const absl::string_view trimmed = absl::StripTrailingAsciiWhitespace(line);
    absl::StrAppend(&out, CutText(trimmed, kTextWidth), "\n");
  }
  return out;
}

}  // namespace sextant
