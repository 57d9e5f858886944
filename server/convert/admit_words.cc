#include "server/convert/admit_words.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "engine/base/field_violation.h"
#include "engine/base/near_names.h"
#include "proto/words/adapters.h"
#include "proto/words/field_names.h"
#include "proto/words/field_path.h"
#include "proto/words/plan_line.h"

namespace sextant::server {
namespace {

using words::FieldForm;
using words::NamedField;

constexpr absl::string_view kWords = "words";
constexpr size_t kMaxFaults = 8;  // looking for near names takes a while

// The parts of a word in double quotes that a backslash takes along.
constexpr absl::string_view kEscapedInQuotes = "\"\\$`\n";

// Splits a line, character by character.
class Splitter {
 public:
  explicit Splitter(absl::string_view line) : line_(line) {}

  absl::StatusOr<std::vector<std::string>> Split() {
    for (; at_ < line_.size(); ++at_) {
      if (absl::Status read = Read(line_[at_]); !read.ok()) return read;
    }
    End();
    return std::move(words_);
  }

 private:
  absl::Status Read(char c) {
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      End();
      return absl::OkStatus();
    }
    in_word_ = true;
    if (c == '\'' || c == '"') return ReadQuoted(c);
    if (c == '\\' && ++at_ == line_.size()) {
      return absl::InvalidArgumentError(
          "a backslash at the end stands before nothing: leave it "
          "out, or write two");
    }
    word_ += line_[at_];
    return absl::OkStatus();
  }

  absl::Status ReadQuoted(char quote) {
    const size_t start = at_;
    while (++at_ < line_.size() && line_[at_] != quote) {
      const bool escapes = quote == '"' && line_[at_] == '\\' && at_ + 1 < line_.size() &&
                           absl::StrContains(kEscapedInQuotes, line_[at_ + 1]);
      if (escapes) ++at_;
      word_ += line_[at_];
    }
    if (at_ < line_.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the quote at character ", start + 1,
                                                   " is not closed: close it, or write a "
                                                   "backslash before it"));
  }

  void End() {
    if (in_word_) words_.push_back(std::exchange(word_, ""));
    in_word_ = false;
  }

  const absl::string_view line_;
  size_t at_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::vector<std::string> words_;
};

// The field that `name`, without dashes, names; null: none.
const NamedField* FindNamedField(absl::string_view name) {
  const std::string spelt = absl::StrReplaceAll(name, {{"_", "-"}});
  for (const NamedField& field : words::PlanFields()) {
    if (absl::c_linear_search(field.names, spelt)) return &field;
  }
  return nullptr;
}

const NamedField& ModelField() {
  return *absl::c_find_if(words::PlanFields(), [](const NamedField& f) { return f.is_argument; });
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", words::OneLineOf(text.substr(0, 64)), text.size() > 64 ? "..." : "",
                      "\"");
}

std::string UnknownName(absl::string_view name) {
  std::vector<KnownName> known;
  for (const NamedField& field : words::PlanFields()) {
    for (const std::string& each : field.names) {
      if (field.described->admit()) known.push_back({.name = each});
    }
  }
  const std::vector<absl::string_view> near = NearNameIndex(known).Near(name, 3);
  std::string out =
      absl::StrCat(Quoted(name), " sets nothing of a run: words name no file, address or output");
  const char* before = "; near names: --";
  for (const absl::string_view each : near) {
    absl::StrAppend(&out, std::exchange(before, ", --"), each);
  }
  return out;
}

// Why words don't set `field`.
std::string NotTaken(const NamedField& field) {
  const bool is_file = words::IsFile(words::FormOf(*field.field));
  return absl::StrCat(field.Word(), is_file ? " names a file, and none is read here"
                                            : " is not taken here: leave it out");
}

// True for texts that a program could take for the place of a file or of a server.
bool NamesPlace(absl::string_view text) {
  return absl::StartsWith(text, "/") || absl::StartsWith(text, ".") ||
         absl::StartsWith(text, "~") || absl::StartsWith(text, "-") ||
         absl::StrContains(text, "..") || absl::StrContains(text, "://") ||
         absl::EndsWithIgnoreCase(text, ".json");
}

// Reads words into a request, and collects what is wrong.
class WordReader {
 public:
  explicit WordReader(v1::PlanRunRequest* request) : request_(*request) {}

  absl::Status Read(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size() && faults_.all().size() < kMaxFaults; ++i) {
      const absl::string_view word = words[i];
      absl::string_view name = word;
      const bool dashed = absl::ConsumePrefix(&name, "--");
      const size_t equals = name.find('=');
      if (dashed && equals == absl::string_view::npos) {
        ReadDashed(name, i + 1 < words.size() ? &words[i + 1] : nullptr, &i);
      } else if (equals != absl::string_view::npos) {
        ReadNamed(name.substr(0, equals), std::string(name.substr(equals + 1)));
      } else {
        ReadBare(words[i]);
      }
    }
    if (given_.count("model.changes.adapters.rank") > 0) {
      words::AddDefaultTargets(request_.mutable_model()->mutable_changes());
    }
    return faults_.ToStatus();
  }

 private:
  void Fault(absl::string_view what) { faults_.Add(kWords, words::OneLineOf(what)); }

  // "--name", whose value is the next word but for a switch.
  void ReadDashed(absl::string_view name, const std::string* next, size_t* index) {
    const NamedField* const field = FindNamedField(name);
    if (field == nullptr) return Fault(UnknownName(name));
    if (!field->described->admit()) return Fault(NotTaken(*field));
    if (words::FormOf(*field->field) == FieldForm::kSwitch) return Set(*field, "true");
    if (next == nullptr || absl::StartsWith(*next, "--")) {
      return Fault(absl::StrCat(field->Word(), " has no value: write ", field->Word(), "=VALUE"));
    }
    ++*index;
    Set(*field, *next);
  }

  void ReadNamed(absl::string_view name, const std::string& value) {
    const NamedField* const field = FindNamedField(name);
    if (field == nullptr) return Fault(UnknownName(name));
    if (!field->described->admit()) return Fault(NotTaken(*field));
    Set(*field, value);
  }

  // A model's name.
  void ReadBare(const std::string& word) {
    if (absl::StartsWith(word, "-") && word.size() > 1) return Fault(UnknownName(word));
    if (has_bare_) {
      return Fault(absl::StrCat(Quoted(word),
                                " has no name, and the model is given: write "
                                "--name=value"));
    }
    has_bare_ = true;
    Set(ModelField(), word);
  }

  void Set(const NamedField& field, const std::string& value) {
    if (!given_.insert(field.path).second && !field.field->is_repeated()) {
      return Fault(absl::StrCat(field.Word(), " is given twice"));
    }
    const bool is_text = words::FormOf(*field.field) == FieldForm::kText;
    if (is_text && NamesPlace(value)) {
      return Fault(absl::StrCat(field.Word(), ": ", Quoted(value),
                                " names a file or an address, and none is read here: write a name "
                                "of the catalogue's"));
    }
    if (value.empty()) return Fault(absl::StrCat(field.Word(), " has no value"));
    const absl::Status set = words::SetField(field.path, value, &request_);
    if (!set.ok()) Fault(absl::StrCat(field.Word(), ": ", set.message()));
  }

  v1::PlanRunRequest& request_;
  bool has_bare_ = false;
  std::set<std::string> given_;  // by path
  FieldViolations faults_;
};

// `text` with words for the fields that it names by their whole paths.
std::string FieldsInWords(absl::string_view text) {
  static const auto* const replacements = [] {
    auto* const out = new std::vector<std::pair<std::string, std::string>>;
    for (const NamedField& field : words::PlanFields()) out->emplace_back(field.path, field.Word());
    return out;
  }();
  return absl::StrReplaceAll(text, *replacements);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitWords(absl::string_view line) {
  return Splitter(line).Split();
}

absl::Status ReadWords(absl::string_view line, v1::PlanRunRequest* request) {
  if (line.size() > kMaxWordsBytes) {
    return InvalidField(
        kWords, absl::StrCat("has ", line.size(), " bytes: write at most ", kMaxWordsBytes));
  }
  const absl::StatusOr<std::vector<std::string>> split = SplitWords(line);
  if (!split.ok()) return InvalidField(kWords, split.status().message());
  return WordReader(request).Read(*split);
}

absl::Status InWords(const absl::Status& status) {
  if (status.code() == absl::StatusCode::kNotFound) {
    return InvalidField(kWords, words::OneLineOf(status.message()));
  }
  const std::vector<FieldViolation> violations = FieldViolationsOf(status);
  if (status.code() != absl::StatusCode::kInvalidArgument || violations.empty()) return status;
  FieldViolations out;
  for (const FieldViolation& each : violations) {
    out.Add(kWords, words::OneLineOf(absl::StrCat(FieldsInWords(each.field), ": ",
                                                  FieldsInWords(each.description))));
  }
  return out.ToStatus();
}

}  // namespace sextant::server
