#include "engine/operation/graph_names.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"
#include "engine/operation/graph_spec.h"

namespace sextant {
namespace {

// A search for near names looks at all names: of many unknown ones only the first have them.
constexpr int kMostSearches = 8;

// Bytes that follow the first one of a character; nothing where it starts none.
absl::optional<int> ContinuationBytes(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first <= 0xDF) return 1;
  if (first >= 0xE0 && first <= 0xEF) return 2;
  if (first >= 0xF0 && first <= 0xF4) return 3;
  return absl::nullopt;
}

// The next character of `text`, which it takes off; nothing where the bytes are no UTF-8.
// Source: RFC 3629 section 4: shortest forms, no surrogates, up to U+10FFFF.
absl::optional<uint32_t> TakeCharacter(absl::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const absl::optional<int> more = ContinuationBytes(first);
  if (!more.has_value() || text.size() <= static_cast<size_t>(*more)) return absl::nullopt;
  uint32_t code = *more == 0 ? first : first & (0x3Fu >> *more);
  for (int i = 1; i <= *more; ++i) {
    const auto byte = static_cast<unsigned char>(text[static_cast<size_t>(i)]);
    if ((byte & 0xC0) != 0x80) return absl::nullopt;
    code = code << 6 | (byte & 0x3F);
  }
  text.remove_prefix(static_cast<size_t>(*more) + 1);
  constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[*more] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    return absl::nullopt;
  }
  return code;
}

bool IsPrintable(absl::string_view text) {
  while (!text.empty()) {
    const absl::optional<uint32_t> code = TakeCharacter(text);
    if (!code.has_value() || *code < 0x20 || (*code >= 0x7F && *code < 0xA0)) return false;
  }
  return true;
}

}  // namespace

bool CheckGraphName(absl::string_view name, absl::string_view path, FieldViolations& violations) {
  if (name.empty()) {
    violations.Add(path, "is required: write a name");
  } else if (name.size() > kMaxGraphNameBytes) {
    violations.Add(
        path, absl::StrCat("has ", name.size(), " bytes: a name has at most ", kMaxGraphNameBytes));
  } else if (!IsPrintable(name)) {
    violations.Add(path, "has control characters or bytes that are no UTF-8: write letters");
  } else {
    return true;
  }
  return false;
}

bool GraphNames::Add(absl::string_view name, size_t number) {
  if (!numbers_.emplace(name, number).second) return false;
  in_order_.push_back(name);
  return true;
}

absl::optional<size_t> GraphNames::Find(absl::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return absl::nullopt;
  return found->second;
}

absl::optional<size_t> GraphNames::FindOrSay(absl::string_view name, absl::string_view path,
                                             FieldViolations& violations) {
  const absl::optional<size_t> found = Find(name);
  if (found.has_value() || !CheckGraphName(name, path, violations)) return found;
  if (++searches_ > kMostSearches) {
    violations.Add(path, absl::StrCat(kind_, " \"", name, "\" is not known"));
    return absl::nullopt;
  }
  std::vector<KnownName> known;
  for (const absl::string_view one : in_order_) known.push_back({.name = one});
  violations.Add(path, UnknownNameMessage(kind_, name, known, where_listed_));
  return absl::nullopt;
}

}  // namespace sextant
