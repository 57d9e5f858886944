// Lines and tables of reports.
#ifndef SEXTANT_CLIENT_REPORT_LINES_H_
#define SEXTANT_CLIENT_REPORT_LINES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/text/text.h"

namespace sextant::client {

// Lines of a usual terminal.
inline constexpr size_t kScreenLines = 24;

size_t LinesIn(absl::string_view text);

// `text`, of whole lines, or its first `count` ones, the last of which then ends in "...".
std::string FirstLines(const std::string& text, size_t count);

// How many more of a list's lines fit a screen that already has `used`: `least` to `most`.
size_t LinesLeft(size_t used, size_t least, size_t most);

// `text` after `label`, at whose end all its lines begin; "" where there is no text.
std::string Line(absl::string_view label, absl::string_view text, size_t width = TextWidth());

// A paragraph that two blanks indent; "" where there is no text.
std::string Paragraph(absl::string_view text, size_t hanging = 2);

// The end of an answer, after an empty line: "engine 0.1.0, rates c0ffee".
std::string EngineLine(const std::string& version, const std::string& rates = "");

// "1,024 devices", "1 device".
std::string Counted(int64_t count, absl::string_view noun);

// Words by what they are of, each once, all in the order in which they came.
class WordGroups {
 public:
  void Add(const std::string& subject, const std::string& word);

  // "subject: word, word; subject: word".
  std::string Text() const;

  // "word and word: subject; word: subject".
  std::string WordsFirst() const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
};

// A value of an enum and the words for it.
template <typename Enum>
struct Worded {
  Enum value;
  const char* words;
};

// The words for `value`; `others` where it has none.
template <typename Enum, size_t kCount>
std::string WordsOf(const Worded<Enum> (&words)[kCount], Enum value, const std::string& others) {
  for (const Worded<Enum>& each : words) {
    if (each.value == value) return each.words;
  }
  return others;
}

// The same; those of the API where it has none, as a newer server's may.
template <typename Enum, size_t kCount>
std::string WordsOf(const Worded<Enum> (&words)[kCount], Enum value) {
  return WordsOf(words, value, Words(EnumName(value)));
}

// A table whose columns have these titles, aligned to the right after ">". There is no line of
// titles where none has a text.
Table Titled(std::vector<std::string> titles, size_t indent = 2);

// A column of a table of items. It is left out where each cell is `usual`.
template <typename Item>
struct Column {
  std::string title;  // after ">" aligned to the right
  std::function<std::string(const Item&)> cell;
  const char* usual = nullptr;
  bool shown = true;
};

// The columns that are not left out.
template <typename Item, typename Items>
std::vector<Column<Item>> UsedColumns(std::vector<Column<Item>> columns, const Items& items) {
  std::erase_if(columns, [&items](const Column<Item>& column) {
    if (!column.shown) return true;
    if (column.usual == nullptr) return false;
    for (const auto& item : items) {
      if (column.cell(item) != column.usual) return false;
    }
    return true;
  });
  return columns;
}

// A row an item.
template <typename Item, typename Items>
Table TableOf(const std::vector<Column<Item>>& columns, const Items& items, size_t indent = 2) {
  const std::vector<Column<Item>> used = UsedColumns(columns, items);
  std::vector<std::string> cells;
  cells.reserve(used.size());
  for (const Column<Item>& column : used) cells.push_back(column.title);
  Table table = Titled(cells, indent);
  for (const auto& item : items) {
    cells.clear();
    for (const Column<Item>& column : used) cells.push_back(column.cell(item));
    table.AddRow(cells);
  }
  return table;
}

// A column an item: each of `rows` has its title before its cells.
template <typename Item, typename Items>
Table SideBySide(const std::vector<Column<Item>>& rows, const Items& items) {
  std::vector<std::string> cells = {""};
  cells.resize(1 + static_cast<size_t>(items.size()), ">");
  Table table = Titled(cells);
  for (const Column<Item>& row : UsedColumns(rows, items)) {
    cells = {row.title};
    for (const auto& item : items) cells.push_back(row.cell(item));
    table.AddRow(cells);
  }
  return table;
}

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_LINES_H_
