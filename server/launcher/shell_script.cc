#include "server/launcher/shell_script.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/launcher/shell_words.h"

namespace sextant::server {
namespace {

constexpr size_t kMaxNamed = 200;  // bytes of an assignment in a branch

bool IsOneOf(absl::string_view word, std::initializer_list<absl::string_view> words) {
  return absl::c_linear_search(words, word);
}

std::string WithDollars(const std::string& text) {
  return absl::StrReplaceAll(text, {{std::string(1, kOpenMark), "$"}});
}

// Blocks of commands. Of a group alone it is sure that it runs.
enum class Block { kBranch, kLoop, kCase, kFunction, kGroup };

// "NAME", "NAME+" of an assignment that stands here, with its "="; empty where none does.
absl::string_view AssignmentAt(absl::string_view text) {
  size_t end = 0;
  while (end < text.size() && IsNameByte(text[end])) ++end;
  if (end == 0 || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return {};
  if (end < text.size() && text[end] == '+') ++end;
  return end < text.size() && text[end] == '=' ? text.substr(0, end + 1) : absl::string_view();
}

class ScriptReader {
 public:
  ScriptReader(absl::string_view text, ShellVariables variables) : words_(text, state_) {
    state_.variables = std::move(variables);
  }

  absl::StatusOr<ShellScript> Read() {
    while (!words_.at_end()) ReadCommand();
    if (!words_.status().ok()) return words_.status();
    for (auto& [name, assignment] : branched_) {
      if (state_.used.count(name) > 0) out_.conditional.push_back(std::move(assignment));
    }
    for (const auto& [name, words] : state_.arrays) {
      out_.texts[name] = WithDollars(absl::StrJoin(words, " "));
    }
    for (auto& [name, value] : state_.variables) {
      out_.texts[name] = WithDollars(value);
      if (absl::StrContains(value, kOpenMark)) {
        out_.open.push_back(name);
      } else {
        out_.variables[name] = std::move(value);
      }
    }
    return std::move(out_);
  }

 private:
  bool conditional() const { return alternative_ || branches_ > 0; }

  void Open(Block block) {
    blocks_.push_back(block);
    if (block != Block::kGroup) ++branches_;
  }

  // A command with the operator after it. Each call takes a byte at least.
  void ReadCommand() {
    command_ = {};
    while (ReadPiece()) {
    }
    const bool empty = Finish();
    ReadSeparator(empty);
  }

  // A word, an assignment, a redirection or a block's bracket. False at the command's end.
  bool ReadPiece() {
    words_.SkipBlanks();
    const char c = words_.peek();
    if (words_.at_end() || c == '\n' || c == ';' || c == '|') return false;
    if (c == '&') return words_.peek(1) == '>' && Redirect(2);
    if (c == '<' || c == '>') return Redirect(1);
    if (c == '(') return ReadBracket();
    if (c == ')') return false;
    if (StartsSum()) return true;
    const bool declares =
        !command_.words.empty() &&
        IsOneOf(command_.words.front().text, {"export", "declare", "local", "readonly", "typeset"});
    const absl::string_view name = AssignmentAt(words_.rest());
    if (!name.empty() && (command_.words.empty() || declares)) {
      Assign(name);
      return true;
    }
    const bool quoted = c == '"' || c == '\'' || c == '$';
    const std::vector<std::string> read = words_.Read();
    const bool number = read.size() == 1 && absl::c_all_of(read.front(), absl::ascii_isdigit) &&
                        (words_.peek() == '<' || words_.peek() == '>');
    if (number) return Redirect(1);
    if (!quoted && command_.words.empty() && read.size() == 1 && ReadReserved(read.front())) {
      return true;
    }
    for (const std::string& word : read) {
      const bool open = absl::StrContains(word, kOpenMark);
      command_.words.push_back({WithDollars(word), open});
    }
    return true;
  }

  // "((i += 1))" as a command: nothing is taken of it.
  bool StartsSum() {
    if (!command_.words.empty() || !absl::StartsWith(words_.rest(), "((")) return false;
    const size_t end = words_.rest().find("))");
    words_.Skip(end == absl::string_view::npos ? words_.rest().size() : end + 2);
    return true;
  }

  // "name()" starts a function; any other bracket a group.
  bool ReadBracket() {
    if (command_.words.empty() && absl::StartsWith(words_.rest(), "((")) return StartsSum();
    words_.Skip(1);
    if (command_.words.empty()) return true;
    words_.SkipBlanks();
    if (words_.peek() == ')') words_.Skip(1);
    command_ = {};
    function_ = true;
    return true;
  }

  // True for a word of the grammar.
  bool ReadReserved(const std::string& word) {
    if (word == "if") {
      Open(Block::kBranch);
    } else if (IsOneOf(word, {"while", "until"})) {
      Open(Block::kLoop);
    } else if (IsOneOf(word, {"for", "select"})) {
      Open(Block::kLoop);
      SkipHead("");
    } else if (word == "case") {
      Open(Block::kCase);
      SkipHead("in");
    } else if (word == "function") {
      words_.SkipBlanks();
      words_.Read();
      words_.SkipBlanks();
      if (absl::StartsWith(words_.rest(), "()")) words_.Skip(2);
      function_ = true;
    } else if (word == "{") {
      Open(function_ ? Block::kFunction : alternative_ ? Block::kBranch : Block::kGroup);
      function_ = false;
    } else if (word == "[[") {
      const size_t end = words_.rest().find("]]");
      words_.Skip(end == absl::string_view::npos ? words_.rest().size() : end + 2);
      command_.words.push_back({.text = word});
    } else if (word == "fi" || word == "}") {
      Close(word == "fi" ? Block::kBranch : Block::kGroup);
    } else if (word == "done" || word == "esac") {
      Close(word == "done" ? Block::kLoop : Block::kCase);
    } else {
      return IsOneOf(word, {"then", "else", "elif", "do", "!", "time"});
    }
    return true;
  }

  void Close(Block block) {
    if (blocks_.empty()) return;
    const Block last = blocks_.back();
    const bool braces = block == Block::kGroup && last != Block::kLoop && last != Block::kCase;
    if (last != block && !braces) return;
    if (last != Block::kGroup) --branches_;
    blocks_.pop_back();
  }

  // Skips the names and words of a loop, or the word of a case and `last`.
  void SkipHead(absl::string_view last) {
    for (;;) {
      words_.SkipBlanks();
      const char c = words_.peek();
      if (words_.at_end() || c == '\n' || c == ';') return;
      const std::vector<std::string> read = words_.Read();
      if (read.size() == 1 && read.front() == last) return;
      if (read.empty() && words_.peek() == c) words_.Skip(1);
    }
  }

  // `skip` bytes of an operator, then the rest of it and its file.
  bool Redirect(size_t skip) {
    const bool heredoc = absl::StartsWith(words_.rest(), "<<") && words_.peek(2) != '<';
    words_.Skip(heredoc ? 2 : skip);
    if (heredoc && words_.peek() == '-') words_.Skip(1);
    while (IsOneOf(words_.rest().substr(0, 1), {"<", ">", "&", "|"})) words_.Skip(1);
    words_.SkipBlanks();
    const std::string file = words_.ReadValue();
    if (heredoc) heredocs_.push_back(file);
    return true;
  }

  void Assign(absl::string_view with_sign) {
    const bool adds = absl::EndsWith(with_sign, "+=");
    const std::string name(with_sign.substr(0, with_sign.size() - (adds ? 2 : 1)));
    words_.Skip(with_sign.size());
    if (words_.peek() == '(') return AssignArray(name, adds);
    std::string value = words_.ReadValue();
    if (conditional()) return Tell(name, absl::StrCat(with_sign, value));
    if (!adds) {
      state_.arrays.erase(name);
      state_.variables[name] = std::move(value);
    } else {
      state_.variables[name] += value;
    }
  }

  void AssignArray(const std::string& name, bool adds) {
    words_.Skip(1);
    std::vector<std::string> read;
    while (!words_.at_end() && words_.peek() != ')') {
      words_.SkipBlanks();
      const char c = words_.peek();
      if (c == ')') break;
      const size_t before = words_.rest().size();
      absl::c_move(words_.Read(), std::back_inserter(read));
      if (words_.rest().size() == before) words_.Skip(1);  // an end of a line
    }
    words_.Skip(1);
    if (conditional()) {
      return Tell(name, absl::StrCat(name, adds ? "+=(" : "=(", absl::StrJoin(read, " "), ")"));
    }
    std::vector<std::string>& array = state_.arrays[name];
    state_.variables.erase(name);
    if (!adds) array.clear();
    absl::c_move(read, std::back_inserter(array));
  }

  void Tell(const std::string& name, std::string assignment) {
    if (assignment.size() > kMaxNamed) assignment = assignment.substr(0, kMaxNamed) + "...";
    branched_.emplace_back(name, WithDollars(assignment));
  }

  // True where the command has no words.
  bool Finish() {
    const std::vector<ShellWord>& words = command_.words;
    if (words.empty()) return true;
    tests_ = IsOneOf(words.front().text, {"[", "[[", "test"});
    const bool sources = IsOneOf(words.front().text, {"source", "."}) && words.size() > 1;
    if (sources) out_.sourced.push_back(words[1].text);
    command_.conditional = conditional();
    out_.commands.push_back(std::move(command_));
    command_ = {};
    return false;
  }

  void ReadSeparator(bool empty) {
    const bool both = absl::StartsWith(words_.rest(), "&&");
    const bool either = absl::StartsWith(words_.rest(), "||");
    const char c = words_.peek();
    words_.Skip(both || either ? 2 : 1);
    // A command after a test, or after one that failed, may not run.
    if (either || (both && tests_)) {
      alternative_ = true;
    } else if (!both && c != '|' && !(empty && c == '\n')) {
      alternative_ = false;
    }
    if (c == '\n') SkipHeredocs();
  }

  void SkipHeredocs() {
    for (const std::string& end : heredocs_) {
      while (!words_.at_end()) {
        const absl::string_view rest = words_.rest();
        const size_t size = std::min(rest.find('\n'), rest.size());
        words_.Skip(size + 1);
        if (absl::StripAsciiWhitespace(rest.substr(0, size)) == end) break;
      }
    }
    heredocs_.clear();
  }

  ShellState state_;
  ShellWords words_;
  ShellScript out_;
  ShellCommand command_;
  std::vector<Block> blocks_;
  size_t branches_ = 0;  // blocks that may not run
  std::vector<std::string> heredocs_;
  std::vector<std::pair<std::string, std::string>> branched_;  // assignments in branches, by name
  bool function_ = false;                                      // a function's body comes next
  bool alternative_ = false;  // the command before it decides whether this one runs
  bool tests_ = false;        // the last command was a test
};

}  // namespace

std::optional<int64_t> ShellExpr(absl::string_view text, const ShellVariables& variables) {
  if (!absl::ConsumePrefix(&text, "expr ")) return std::nullopt;
  const std::string sum =
      absl::StrReplaceAll(text, {{"\\*", "*"}, {"${", ""}, {"}", ""}, {"$", ""}});
  return ShellSum(sum, variables);
}

absl::StatusOr<ShellScript> ReadShellScript(absl::string_view text, ShellVariables variables) {
  return ScriptReader(text, std::move(variables)).Read();
}

}  // namespace sextant::server
