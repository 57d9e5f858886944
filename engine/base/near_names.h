// Names typed by people: compared without case and separators, with near names suggested for
// unknown ones.
#ifndef SEXTANT_ENGINE_BASE_NEAR_NAMES_H_
#define SEXTANT_ENGINE_BASE_NEAR_NAMES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

// `name` in lower case, without blanks, dashes, underscores, dots, slashes and colons, except that
// any of these between two digits become one dot: "Llama 3.1-70B" and "llama-3.1_70b" both give
// "llama3.1.70b", and opt-1.3b is not opt-13b. At most the first 64 bytes of the result are kept,
// which bounds the cost of a hostile name.
std::string ComparableName(absl::string_view name);

// True where `name` is `known`, or a path that ends in it ("meta-llama/Llama-3.1-8B").
bool IsNameOf(absl::string_view name, absl::string_view known);

// The first of `all` that is named `name`, else the first whose name or product name has its
// ComparableName(); null: none.
template <typename Named>
const Named* FindNamed(absl::Span<const Named> all, absl::string_view name) {
  for (const Named& each : all) {
    if (each.name == name) return &each;
  }
  const std::string wanted = ComparableName(name);
  for (const Named& each : all) {
    if (ComparableName(each.name) == wanted || ComparableName(each.product_name) == wanted) {
      return &each;
    }
  }
  return nullptr;
}

// A name, and another name for it (a product name).
struct KnownName {
  absl::string_view name;
  absl::string_view also = "";
};

// Names to compare others with: their words are split once. The names outlive it.
class NearNameIndex {
 public:
  explicit NearNameIndex(absl::Span<const KnownName> names);

  // Up to `most` of the names that are nearest to `name`. If any contain it, only those; else those
  // that share words with it ("NVIDIA A100-SXM4-80GB" shares three with a100-sxm-80's product
  // name), most words first; then by edit distance to a name or to its start, if at most half of
  // `name` has to change. Ties keep the order of the names.
  std::vector<absl::string_view> Near(absl::string_view name, int most) const;

 private:
  struct Known {
    absl::string_view name;
    std::string comparable;
  };

  // How many of `words` each name has.
  std::vector<size_t> SharedWords(const std::vector<std::string>& words) const;

  std::vector<Known> names_;
  std::map<std::string, std::vector<size_t>> of_word_;  // indices of the names that have it
};

// accelerator "h100-smx" is not known; near names: h100-sxm, h200-sxm; all: <where_listed>
std::string UnknownNameMessage(absl::string_view kind, absl::string_view name,
                               absl::Span<const KnownName> names, absl::string_view where_listed);

// kNotFound with that message; the three nearest names are a fact for programs, "near_names".
absl::Status UnknownNameError(absl::string_view kind, absl::string_view name,
                              const NearNameIndex& names, absl::string_view where_listed);
absl::Status UnknownNameError(absl::string_view kind, absl::string_view name,
                              absl::Span<const KnownName> names, absl::string_view where_listed);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_NEAR_NAMES_H_
