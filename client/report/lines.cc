#include "client/report/lines.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sextant::client {

size_t LinesIn(absl::string_view text) { return static_cast<size_t>(absl::c_count(text, '\n')); }

std::string FirstLines(const std::string& text, size_t count) {
  if (LinesIn(text) <= count) return text;
  constexpr absl::string_view kMore = " ...";
  size_t end = 0;
  for (size_t i = 0; i < count; ++i) end = text.find('\n', end) + 1;
  // The line gives up a word, so that it does not get longer.
  const std::string kept = text.substr(0, end - 1);
  return absl::StrCat(kept.substr(0, kept.find_last_of(' ')), kMore, "\n");
}

size_t LinesLeft(size_t used, size_t least, size_t most) {
  const size_t left = used < kScreenLines ? kScreenLines - used : 0;
  return std::clamp(left, least, most);
}

std::string Line(absl::string_view label, absl::string_view text, size_t width) {
  return text.empty() ? "" : Wrap(label, text, label.size(), width);
}

std::string Paragraph(absl::string_view text, size_t hanging) {
  return text.empty() ? "" : Wrap("  ", text, hanging);
}

std::string EngineLine(const std::string& version, const std::string& rates) {
  return absl::StrCat(
      "\n", Wrap("", absl::StrCat("engine ", version, rates.empty() ? "" : ", rates ", rates), 0));
}

std::string Counted(int64_t count, absl::string_view noun) {
  return absl::StrCat(Grouped(count), " ", noun, count == 1 ? "" : "s");
}

void WordGroups::Add(const std::string& subject, const std::string& word) {
  auto found = absl::c_find_if(groups_, [&](const auto& group) { return group.first == subject; });
  if (found == groups_.end()) found = groups_.insert(groups_.end(), {subject, {}});
  if (!absl::c_linear_search(found->second, word)) found->second.push_back(word);
}

std::string WordGroups::Text() const {
  return absl::StrJoin(groups_, "; ", [](std::string* out, const auto& group) {
    absl::StrAppend(out, group.first, ": ", absl::StrJoin(group.second, ", "));
  });
}

std::string WordGroups::WordsFirst() const {
  return absl::StrJoin(groups_, "; ", [](std::string* out, const auto& group) {
    absl::StrAppend(out, absl::StrJoin(group.second, " and "), ": ", group.first);
  });
}

Table Titled(std::vector<std::string> titles, size_t indent) {
  std::vector<Align> aligned;
  bool any = false;
  for (std::string& title : titles) {
    const bool right = !title.empty() && title.front() == '>';
    if (right) title.erase(0, 1);
    aligned.push_back(right ? Align::kRight : Align::kLeft);
    any = any || !title.empty();
  }
  Table table(indent, std::move(aligned));
  if (any) table.AddRow(std::move(titles));
  return table;
}

}  // namespace sextant::client
