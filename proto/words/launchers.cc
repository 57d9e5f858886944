#include "proto/words/launchers.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sextant::words {

std::string WithArticle(const std::string& name) {
  const bool vowel =
      !name.empty() && absl::StrContains("aeiouAEIOU", absl::string_view(name).substr(0, 1));
  // Spelt letter by letter, from "em" on.
  const bool spelt = absl::StartsWith(name, "ML") || absl::StartsWith(name, "ms-");
  return absl::StrCat(vowel || spelt ? "an " : "a ", name);
}

}  // namespace sextant::words
