#include "engine/base/near_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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

// Edit distances of one text, of 1 to 64 bytes, to others. Each byte of another takes a few
// operations on words whose bits are differences along a column of Levenshtein's table (Myers, A
// fast bit-vector algorithm for approximate string matching, J. ACM 46, 1999; from memory).
class EditDistances {
 public:
  explicit EditDistances(absl::string_view text) : size_(text.size()) {
    for (size_t i = 0; i < size_; ++i) {
      positions_[static_cast<unsigned char>(text[i])] |= uint64_t{1} << i;
    }
  }

  // The fewest insertions, deletions and replacements of one character that turn the text into
  // `other`, or with one more into its start of as many characters as the text has.
  size_t To(absl::string_view other) const {
    const uint64_t last = uint64_t{1} << (size_ - 1);
    uint64_t more = ~uint64_t{0};  // the distance grows by 1 from the row above
    uint64_t less = 0;             // it falls by 1
    size_t distance = size_;
    size_t of_start = std::max(size_, other.size());  // no distance is larger
    for (size_t i = 0; i < other.size(); ++i) {
      const uint64_t same = positions_[static_cast<unsigned char>(other[i])];
      const uint64_t level = same | less;
      const uint64_t across = (((same & more) + more) ^ more) | same;
      uint64_t grows = less | ~(across | more);
      uint64_t falls = more & across;
      distance += (grows & last) != 0 ? 1 : 0;
      distance -= (falls & last) != 0 ? 1 : 0;
      grows = grows << 1 | 1;
      falls <<= 1;
      more = falls | ~(level | grows);
      less = grows & level;
      if (i + 1 == size_) of_start = distance;
    }
    return std::min(distance, of_start + 1);
  }

 private:
  size_t size_;
  std::array<uint64_t, 256> positions_ = {};  // of each byte in the text
};

// The words of `text` in lower case: runs of letters and digits.
std::vector<std::string> WordsOf(absl::string_view text) {
  return absl::StrSplit(absl::AsciiStrToLower(text.substr(0, kMaxComparedBytes)),
                        absl::ByAnyChar(" -_./:()"), absl::SkipEmpty());
}

struct Candidate {
  size_t distance;
  absl::string_view name;
};

std::string UnknownMessage(absl::string_view kind, absl::string_view name,
                           absl::Span<const absl::string_view> near,
                           absl::string_view where_listed) {
  return absl::StrCat(kind, " \"", absl::CHexEscape(name.substr(0, kMaxComparedBytes)),
                      "\" is not known",
                      near.empty() ? "" : absl::StrCat("; near names: ", absl::StrJoin(near, ", ")),
                      "; all: ", where_listed);
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

NearNameIndex::NearNameIndex(absl::Span<const KnownName> names) {
  names_.reserve(names.size());
  for (const KnownName& known : names) {
    for (std::string& word : WordsOf(absl::StrCat(known.name, " ", known.also))) {
      std::vector<size_t>& of_word = of_word_[std::move(word)];
      if (of_word.empty() || of_word.back() != names_.size()) of_word.push_back(names_.size());
    }
    names_.push_back({known.name, ComparableName(known.name)});
  }
}

std::vector<size_t> NearNameIndex::SharedWords(const std::vector<std::string>& words) const {
  std::vector<size_t> out(names_.size());
  for (const std::string& word : words) {
    const auto found = of_word_.find(word);
    if (found == of_word_.end()) continue;
    for (const size_t index : found->second) ++out[index];
  }
  return out;
}

std::vector<absl::string_view> NearNameIndex::Near(absl::string_view name, int most) const {
  const std::string wanted = ComparableName(name);
  if (wanted.empty()) return {};
  const std::vector<std::string> words = WordsOf(name);
  const std::vector<size_t> shared = SharedWords(words);
  std::vector<bool> contains;
  for (const Known& known : names_) contains.push_back(absl::StrContains(known.comparable, wanted));
  // Next to names that contain the word itself, merely similar ones are noise.
  const bool any = std::find(contains.begin(), contains.end(), true) != contains.end();
  const EditDistances distances(wanted);
  std::vector<absl::string_view> out;
  // Most shared words come first, so that few names have to be measured.
  for (size_t level = words.size() + 1; level-- > 0 && static_cast<int>(out.size()) < most;) {
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (shared[i] != level || contains[i] != any) continue;
      const std::string& other = names_[i].comparable;
      const bool must_be_near = level == 0 && !any;
      // A shorter name is as far as the characters that it lacks.
      if (must_be_near && other.size() + wanted.size() / 2 < wanted.size()) continue;
      const size_t distance = distances.To(other);
      if (must_be_near && 2 * distance > wanted.size()) continue;
      candidates.push_back({distance, names_[i].name});
    }
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
    for (const Candidate& c : candidates) {
      if (static_cast<int>(out.size()) < most) out.push_back(c.name);
    }
  }
  return out;
}

std::string UnknownNameMessage(absl::string_view kind, absl::string_view name,
                               absl::Span<const KnownName> names, absl::string_view where_listed) {
  return UnknownMessage(kind, name, NearNameIndex(names).Near(name, kMaxNearNames), where_listed);
}

absl::Status UnknownNameError(absl::string_view kind, absl::string_view name,
                              const NearNameIndex& names, absl::string_view where_listed) {
  std::vector<absl::string_view> near = names.Near(name, kMaxNearNames);
  absl::Status status = absl::NotFoundError(UnknownMessage(kind, name, near, where_listed));
  if (near.empty()) return status;
  near.resize(std::min<size_t>(near.size(), kMaxNearNamesOfFact));
  return WithMetadata(std::move(status), "near_names", absl::StrJoin(near, ", "));
}

absl::Status UnknownNameError(absl::string_view kind, absl::string_view name,
                              absl::Span<const KnownName> names, absl::string_view where_listed) {
  return UnknownNameError(kind, name, NearNameIndex(names), where_listed);
}

}  // namespace sextant
