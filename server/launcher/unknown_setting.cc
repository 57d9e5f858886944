#include "server/launcher/unknown_setting.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "engine/base/near_names.h"
#include "server/launcher/setting.h"

namespace sextant::server {
namespace {

constexpr size_t kMaxTypos = 2;       // of a name that is misspelled
constexpr size_t kMinComparable = 6;  // shorter names are near to many
constexpr size_t kMaxComparable = 64;
constexpr int kMaxSuggested = 3;
constexpr size_t kMaxRefused = 5;

// "--num_layers" as "--num-layers".
std::string Dashed(absl::string_view name) {
  return absl::StartsWith(name, "-") ? absl::StrReplaceAll(name, {{"_", "-"}}) : std::string(name);
}

// The name of "--recompute-modules mlp" and of "mode = selective".
absl::string_view NameIn(absl::string_view text) { return text.substr(0, text.find(' ')); }

bool EndsOpen(absl::string_view name) {
  return name.back() == '.' || name.back() == '_' || name.back() == '-';
}

// Fewest insertions, deletions and replacements of one character that turn `a` into `b`, at most 64
// characters long each.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t before = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = before + (a[i - 1] == b[j - 1] ? 0 : 1);
      before = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Appends the names of settings that change a plan.
void AppendNames(absl::Span<const Setting> table, std::vector<absl::string_view>* out) {
  for (const Setting& row : table) {
    if (row.passes) continue;
    for (const absl::string_view name : NamesOf(row)) {
      if (!name.empty() && !EndsOpen(name)) out->push_back(name);
    }
  }
}

bool IsMisspelled(absl::string_view name, const std::vector<absl::string_view>& known) {
  if (name.size() < kMinComparable || name.size() > kMaxComparable) return false;
  return absl::c_any_of(known, [&](absl::string_view each) {
    const size_t longer = std::max(each.size(), name.size());
    const size_t shorter = std::min(each.size(), name.size());
    return longer - shorter <= kMaxTypos && longer <= kMaxComparable && each != name &&
           EditDistance(each, name) <= kMaxTypos;
  });
}

// True of "optimizer", of which a file has a number in place of its settings.
bool IsSection(absl::string_view name, const std::vector<absl::string_view>& known) {
  const std::string start = absl::StrCat(name, ".");
  return absl::c_any_of(known,
                        [&](absl::string_view each) { return absl::StartsWith(each, start); });
}

// How a table knows a name: not at all, by its start, or by all of it.
enum class Knowledge { kNone, kStart, kWhole };

Knowledge KnowledgeOf(absl::string_view name, absl::Span<const Setting> table) {
  Knowledge out = Knowledge::kNone;
  for (const Setting& row : table) {
    if (!IsNameOfRow(name, row)) continue;
    const bool whole =
        absl::c_any_of(NamesOf(row), [&](absl::string_view each) { return Dashed(each) == name; });
    if (whole) return Knowledge::kWhole;
    out = Knowledge::kStart;
  }
  return out;
}

std::string Refusal(const std::string& name, const NearNameIndex& index) {
  const std::vector<absl::string_view> near = index.Near(name, kMaxSuggested);
  return absl::StrCat(
      name, ": not known: ",
      near.empty() ? "" : absl::StrCat("write ", absl::StrJoin(near, " or "), ", or "),
      "leave it out");
}

}  // namespace

bool IsNameOfRow(absl::string_view setting, const Setting& row) {
  const std::string dashed = Dashed(setting);
  return absl::c_any_of(NamesOf(row), [&](absl::string_view name) {
    absl::string_view rest = dashed;
    if (name.empty() || !absl::ConsumePrefix(&rest, Dashed(name))) return false;
    return rest.empty() || row.lowers || EndsOpen(name) || rest.front() == '.' ||
           rest.front() == ' ';
  });
}

absl::Status RefuseUnknown(const std::vector<std::string>& names, absl::Span<const Setting> table,
                           const UnknownNames& unknown) {
  if (unknown.fate == Unknown::kOpen || names.empty()) return absl::OkStatus();
  std::vector<absl::string_view> matter;
  AppendNames(table, &matter);
  AppendNames(unknown.also, &matter);
  const bool arguments = !matter.empty() && matter.front().front() == '-';
  std::vector<std::string> refused;
  for (const std::string& text : names) {
    if (arguments && !absl::StartsWith(text, "-")) continue;
    const std::string name = Dashed(NameIn(text));
    const bool only_dashes = name.find_first_not_of('-') == std::string::npos;
    if (only_dashes || IsSection(name, matter)) continue;
    const Knowledge knowledge = std::max(KnowledgeOf(name, table), KnowledgeOf(name, unknown.also));
    if (knowledge == Knowledge::kWhole) continue;
    const bool refuses = knowledge == Knowledge::kNone && unknown.fate == Unknown::kRefused;
    if (refuses || IsMisspelled(name, matter)) refused.emplace_back(NameIn(text));
  }
  if (refused.empty()) return absl::OkStatus();
  std::vector<KnownName> known;
  known.reserve(matter.size());
  for (const absl::string_view name : matter) known.push_back({name});
  const NearNameIndex index(known);
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(refused.size(), kMaxRefused); ++i) {
    out.push_back(Refusal(refused[i], index));
  }
  if (refused.size() > kMaxRefused) {
    out.push_back(absl::StrCat("and ", refused.size() - kMaxRefused, " more"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(out, "; "));
}

}  // namespace sextant::server
