#include "client/flag_words.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/format.h"
#include "client/plan_flags.h"

namespace sextant {
namespace {

// Fields that flags fill from files.
constexpr absl::string_view kFiles[] = {"model.architecture", "model.hugging_face_config",
                                        "model.transformer"};

// The place behind a flag's own field: "[1].expert_count" is ", entry 2 (expert count)".
std::string PlaceWords(absl::string_view rest) {
  std::string out;
  int64_t index = 0;
  const size_t end = rest.find(']');
  if (absl::StartsWith(rest, "[") && end != absl::string_view::npos &&
      absl::SimpleAtoi(rest.substr(1, end - 1), &index)) {
    out = absl::StrCat(", entry ", index + 1);
    rest.remove_prefix(end + 1);
  }
  absl::ConsumePrefix(&rest, ".");
  return rest.empty() ? out : absl::StrCat(out, " (", Words(rest), ")");
}

// Absent where `field` is neither the flag's nor below it.
std::optional<std::string> WordsOf(const FieldFlag& flag, absl::string_view field) {
  if (!absl::ConsumePrefix(&field, flag.field)) return std::nullopt;
  if (!field.empty() && field.front() != '.' && field.front() != '[') return std::nullopt;
  // What a file holds has the file's own names.
  if (absl::c_linear_search(kFiles, flag.field)) {
    absl::ConsumePrefix(&field, ".");
    return absl::StrCat(ShortName(flag), field.empty() ? "" : ": ", field);
  }
  return absl::StrCat(ShortName(flag), PlaceWords(field));
}

// The flag of a field that a text names by its path or by its last name; the name itself where it
// has none. A name without "_" is an ordinary word.
std::string FlagOfName(absl::Span<const FieldFlag> flags, absl::string_view name) {
  for (const FieldFlag& flag : flags) {
    const bool named = name == flag.field || absl::EndsWith(flag.field, absl::StrCat(".", name));
    if (named && absl::StrContains(name, "_")) return ShortName(flag);
  }
  return std::string(name);
}

bool IsOfAName(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

std::vector<FieldFlag> FlagsOfPlans() {
  std::vector<FieldFlag> flags;
  for (const PlanFlag& flag : PlanFlags()) {
    flags.push_back({flag.names, flag.field, flag.help, flag.group});
  }
  return flags;
}

}  // namespace

std::string FieldWordsOf(absl::Span<const FieldFlag> flags, const std::string& field) {
  for (const FieldFlag& flag : flags) {
    if (const auto words = WordsOf(flag, field)) return *words;
  }
  return field;
}

std::string DescriptionWordsOf(absl::Span<const FieldFlag> flags, const std::string& text) {
  std::string out;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t length = static_cast<size_t>(absl::c_find_if_not(rest, IsOfAName) - rest.begin());
    const absl::string_view name = absl::StripSuffix(rest.substr(0, length), ".");
    const std::string flag = FlagOfName(flags, name);
    out += flag;
    rest.remove_prefix(name.size());
    // "vocabulary_multiple 1024" is written with "=" on the command line.
    const bool has_value =
        flag != name && rest.size() > 1 && rest[0] == ' ' && absl::ascii_isdigit(rest[1]);
    if (has_value) out += '=';
    if (!has_value && !rest.empty()) out += rest.front();
    if (!rest.empty()) rest.remove_prefix(1);
  }
  return out;
}

std::string PlanFieldWords(const std::string& field) { return FieldWordsOf(FlagsOfPlans(), field); }

std::string PlanDescriptionWords(const std::string& text) {
  return DescriptionWordsOf(FlagsOfPlans(), text);
}

}  // namespace sextant
