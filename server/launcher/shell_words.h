// Words of a shell script, with their variables put in.
#ifndef SEXTANT_SERVER_LAUNCHER_SHELL_WORDS_H_
#define SEXTANT_SERVER_LAUNCHER_SHELL_WORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/launcher/shell_script.h"

namespace sextant::server {

// In place of "$" in a value, it starts what is open.
inline constexpr char kOpenMark = '\x01';

// A script's variables as it is read.
struct ShellState {
  ShellVariables variables = {};
  std::map<std::string, std::vector<std::string>> arrays = {};
  std::set<std::string> used = {};  // names whose values were put in, or asked for
};

// Reads words from a place in a script on.
class ShellWords {
 public:
  ShellWords(absl::string_view text, ShellState& state) : text_(text), state_(state) {}

  // The place in the text.
  bool at_end() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  absl::string_view rest() const { return text_.substr(at_); }
  void Skip(size_t count) { at_ = std::min(at_ + count, text_.size()); }
  // Skips blanks, ends of lines that go on, and a comment.
  void SkipBlanks();

  // The word here: none where a variable without quotes is empty, several where it has blanks.
  // Before an end of a line, an operator or a parenthesis it is none, and the place stays.
  std::vector<std::string> Read();
  // The same as one text, as an assignment takes it.
  std::string ReadValue();

  // The first fault.
  const absl::Status& status() const { return status_; }

 private:
  // The fields of a word that is being read.
  struct Fields {
    std::vector<std::string> done = {};
    std::string last = {};
    bool begun = false;  // `last` is a field, if an empty one
    bool splits = true;  // at blanks of variables
  };

  void ReadPart(char stop, Fields& out);
  void ReadQuoted(Fields& out);
  void ReadSingle(Fields& out);
  void ReadDollar(bool quoted, Fields& out);
  void ReadBraces(bool quoted, Fields& out);
  void ReadOperator(const std::string& name, bool quoted, Fields& out);
  void ReadSum(Fields& out);
  // Past the ")" or "`" that ends a command whose output is taken.
  void SkipCommand(char open, char close);

  void Put(absl::string_view text, Fields& out);
  void PutOpen(absl::string_view name, Fields& out);
  void PutVariable(const std::string& name, bool quoted, Fields& out);
  void PutArray(const std::string& name, bool quoted, Fields& out);
  void PutSplit(const std::string& value, bool quoted, Fields& out);
  void Fail(absl::string_view why);

  absl::string_view text_;
  ShellState& state_;
  size_t at_ = 0;
  size_t put_ = 0;  // bytes of all words
  int depth_ = 0;
  absl::Status status_;
};

// A sum of literal numbers, "8*(2+2)", with variables by their bare names; absent where it is none.
std::optional<int64_t> ShellSum(absl::string_view text, const ShellVariables& variables);
// The sum that the command `text` prints, "expr 64 / $N", as scripts count steps of accumulation.
std::optional<int64_t> ShellExpr(absl::string_view text, const ShellVariables& variables);

// True where `c` may stand in a variable's name.
bool IsNameByte(char c);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_SHELL_WORDS_H_
