#include "server/launcher/python_words.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sextant::server {
namespace {

constexpr size_t kMaxBrackets = 32;

bool StartsName(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool InName(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Reads the text once, from front to back.
class WordReader {
 public:
  explicit WordReader(absl::string_view text) : rest_(text) {}

  absl::StatusOr<std::vector<PythonLine>> Read() {
    while (!rest_.empty() && fault_.empty()) {
      if (brackets_ == 0 && at_start_) StartLine();
      if (!rest_.empty()) Step();
    }
    if (fault_.empty() && brackets_ > 0) Fail("a bracket has no end: close it");
    if (!fault_.empty()) return absl::InvalidArgumentError(fault_);
    EndLine();
    return std::move(lines_);
  }

 private:
  void Fail(absl::string_view why) {
    if (fault_.empty()) fault_ = absl::StrCat("no Python: line ", number_, ": ", why);
  }

  void StartLine() {
    int indent = 0;
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      indent += rest_.front() == '\t' ? 8 - indent % 8 : 1;
      rest_.remove_prefix(1);
    }
    line_ = {.number = number_, .indent = indent};
    at_start_ = false;
  }

  void EndLine() {
    if (!line_.words.empty()) lines_.push_back(std::move(line_));
    line_ = {.number = number_};
    at_start_ = true;
  }

  void Step() {
    const char c = rest_.front();
    if (c == '\n') {
      rest_.remove_prefix(1);
      ++number_;
      if (brackets_ == 0) EndLine();
    } else if (c == '#') {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (absl::StartsWith(rest_, "\\\n")) {
      rest_.remove_prefix(2);
      ++number_;
    } else if (absl::ascii_isspace(c)) {
      rest_.remove_prefix(1);
    } else if (c == ';' && brackets_ == 0) {
      rest_.remove_prefix(1);
      const int indent = line_.indent;
      EndLine();
      line_.indent = indent;
      at_start_ = false;
    } else if (StartsName(c)) {
      TakeNameOrText();
    } else if (c == '"' || c == '\'') {
      TakeText(false);
    } else if (absl::ascii_isdigit(c) ||
               (c == '.' && rest_.size() > 1 && absl::ascii_isdigit(rest_[1]))) {
      TakeNumber();
    } else {
      TakeMark();
    }
  }

  void Add(PythonWord::Kind kind, absl::string_view text, bool formatted = false) {
    line_.words.push_back({kind, std::string(text), formatted});
  }

  void TakeNameOrText() {
    size_t size = 0;
    while (size < rest_.size() && InName(rest_[size])) ++size;
    const absl::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    const bool quoted = !rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'');
    if (quoted && size <= 2) return TakeText(absl::StrContains(absl::AsciiStrToLower(name), 'f'));
    Add(PythonWord::Kind::kName, name);
  }

  // A text between quotes of one or three marks. Its escapes stay as they are: no setting has one.
  void TakeText(bool formatted) {
    const std::string three(3, rest_.front());
    const bool is_long = absl::StartsWith(rest_, three);
    const std::string mark = is_long ? three : three.substr(0, 1);
    size_t at = mark.size();
    for (;; ++at) {
      if (at >= rest_.size() || (!is_long && rest_[at] == '\n')) {
        rest_.remove_prefix(rest_.size());
        return Fail("a text has no end: close it");
      }
      if (absl::StartsWith(rest_.substr(at), mark)) break;
      if (rest_[at] == '\n') ++number_;
      if (rest_[at] == '\\') ++at;
    }
    Add(PythonWord::Kind::kText, formatted ? "" : rest_.substr(mark.size(), at - mark.size()),
        formatted);
    rest_.remove_prefix(at + mark.size());
  }

  void TakeNumber() {
    size_t size = 0;
    while (size < rest_.size()) {
      const bool sign = (rest_[size] == '-' || rest_[size] == '+') && size > 0 &&
                        (rest_[size - 1] == 'e' || rest_[size - 1] == 'E') &&
                        !absl::StartsWith(rest_, "0x");
      if (!InName(rest_[size]) && rest_[size] != '.' && !sign) break;
      ++size;
    }
    Add(PythonWord::Kind::kNumber, rest_.substr(0, size));
    rest_.remove_prefix(size);
  }

  void TakeMark() {
    const char c = rest_.front();
    if (c == '(' || c == '[' || c == '{') {
      if (++brackets_ > kMaxBrackets) Fail("brackets are nested more than 32 deep");
    } else if (c == ')' || c == ']' || c == '}') {
      if (brackets_ == 0) return Fail("a bracket closes none");
      --brackets_;
    }
    constexpr absl::string_view kDouble[] = {"==", "!=", "<=", ">=", "//", "**", "+=", "-=",
                                             "*=", "/=", "->", ":=", "|=", "&=", "<<", ">>"};
    for (const absl::string_view mark : kDouble) {
      if (!absl::StartsWith(rest_, mark)) continue;
      Add(PythonWord::Kind::kMark, mark);
      return rest_.remove_prefix(mark.size());
    }
    Add(PythonWord::Kind::kMark, rest_.substr(0, 1));
    rest_.remove_prefix(1);
  }

  absl::string_view rest_;
  int number_ = 1;
  size_t brackets_ = 0;
  bool at_start_ = true;
  std::string fault_;
  PythonLine line_;
  std::vector<PythonLine> lines_;
};

}  // namespace

absl::StatusOr<std::vector<PythonLine>> PythonLinesOf(const std::string& text) {
  return WordReader(text).Read();
}

}  // namespace sextant::server
