#include "engine/base/near_names.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/base/reason.h"

namespace sextant {
namespace {

constexpr size_t kMaxComparedBytes = 64;
constexpr int kMaxNearNames = 6;
constexpr int kMaxNearNamesOfFact = 3;  // as server/call/status.cc has room for

bool IsSeparator(char c) { return absl::StrContains(" -_./:", c); }

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Levenshtein's distance: the fewest insertions, deletions and replacements of one
// character that turn `a` into `b`. O(|a| |b|), both at most kMaxComparedBytes.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

// The words of `text` in lower case: runs of letters and digits.
std::vector<std::string> WordsOf(absl::string_view text) {
  return absl::StrSplit(absl::AsciiStrToLower(text.substr(0, kMaxComparedBytes)),
                        absl::ByAnyChar(" -_./:()"), absl::SkipEmpty());
}

size_t SharedWords(const std::vector<std::string>& words, const KnownName& known) {
  const std::vector<std::string> others = WordsOf(absl::StrCat(known.name, " ", known.also));
  size_t shared = 0;
  for (const std::string& word : words) {
    shared += std::find(others.begin(), others.end(), word) != others.end() ? 1 : 0;
  }
  return shared;
}

// Smaller is nearer; compared member by member.
struct Nearness {
  bool apart;          // does not contain the name
  size_t words_apart;  // words of the name that are missing
  size_t distance;

  friend auto operator<=>(const Nearness&, const Nearness&) = default;
};

struct Candidate {
  Nearness nearness;
  absl::string_view name;
};

std::vector<Candidate> CandidatesFor(absl::string_view name, absl::Span<const KnownName> names) {
  const std::string wanted = ComparableName(name);
  const std::vector<std::string> words = WordsOf(name);
  std::vector<Candidate> out;
  if (wanted.empty()) return out;
  for (const KnownName& known : names) {
    const std::string other = ComparableName(known.name);
    const bool contains = absl::StrContains(other, wanted);
    const size_t shared = SharedWords(words, known);
    const size_t distance =
        std::min(EditDistance(wanted, other),
                 EditDistance(wanted, absl::string_view(other).substr(0, wanted.size())) + 1);
    if (contains || shared > 0 || 2 * distance <= wanted.size()) {
      out.push_back({{!contains, words.size() - shared, distance}, known.name});
    }
  }
  return out;
}

}  // namespace

std::string ComparableName(absl::string_view name) {
  std::string out;
  bool separated = false;
  for (const char c : name) {
    if (out.size() >= kMaxComparedBytes) break;
    if (IsSeparator(c)) {
      separated = true;
      continue;
    }
    if (separated && !out.empty() && IsDigit(out.back()) && IsDigit(c)) out += '.';
    separated = false;
    out += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return out;
}

bool IsNameOf(absl::string_view name, absl::string_view known) {
  if (name == known) return true;
  const std::string wanted = ComparableName(known);
  return ComparableName(name) == wanted ||
         ComparableName(name.substr(name.rfind('/') + 1)) == wanted;
}

std::vector<absl::string_view> NearNames(absl::string_view name, absl::Span<const KnownName> names,
                                         int most) {
  std::vector<Candidate> candidates = CandidatesFor(name, names);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.nearness < b.nearness; });
  std::vector<absl::string_view> out;
  for (const Candidate& c : candidates) {
    // Next to names that contain the word itself, merely similar ones are noise.
    if (c.nearness.apart != candidates.front().nearness.apart) break;
    if (static_cast<int>(out.size()) == most) break;
    out.push_back(c.name);
  }
  return out;
}

std::string UnknownNameMessage(absl::string_view kind, absl::string_view name,
                               absl::Span<const KnownName> names, absl::string_view where_listed) {
  const std::vector<absl::string_view> near = NearNames(name, names, kMaxNearNames);
  return absl::StrCat(kind, " \"", absl::CHexEscape(name.substr(0, kMaxComparedBytes)),
                      "\" is not known",
                      near.empty() ? "" : absl::StrCat("; near names: ", absl::StrJoin(near, ", ")),
                      "; all: ", where_listed);
}

absl::Status UnknownNameError(absl::string_view kind, absl::string_view name,
                              absl::Span<const KnownName> names, absl::string_view where_listed) {
  absl::Status status = absl::NotFoundError(UnknownNameMessage(kind, name, names, where_listed));
  const std::vector<absl::string_view> near = NearNames(name, names, kMaxNearNamesOfFact);
  if (near.empty()) return status;
  return WithMetadata(std::move(status), "near_names", absl::StrJoin(near, ", "));
}

}  // namespace sextant
