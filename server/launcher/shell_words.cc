#include "server/launcher/shell_words.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sextant::server {
namespace {

// A variable may double itself, so that a short script could ask for any memory. Scripts of the
// wild put in a few kilobytes.
constexpr size_t kMaxExpandedBytes = size_t{4} << 20;
constexpr size_t kFieldBytes = sizeof(std::string);  // what a word takes besides its text
constexpr int kMaxShellDepth = 16;
constexpr char kEndsWord[] = " \t\r\n;&|<>()";

bool EndsWord(char c) { return absl::string_view(kEndsWord).find(c) != absl::string_view::npos; }

// Reads a sum by recursive descent: + and -, then *, / and %, then a sign, a number or brackets.
class SumReader {
 public:
  SumReader(absl::string_view text, const ShellVariables& variables)
      : text_(text), variables_(variables) {}

  std::optional<int64_t> Read() {
    const Value out = Sum(0);
    SkipBlanks();
    return text_.empty() ? out : std::nullopt;
  }

 private:
  using Value = std::optional<int64_t>;

  void SkipBlanks() { text_ = absl::StripLeadingAsciiWhitespace(text_); }
  char Take(absl::string_view of) {
    SkipBlanks();
    if (text_.empty() || of.find(text_.front()) == absl::string_view::npos) return '\0';
    const char out = text_.front();
    text_.remove_prefix(1);
    return out;
  }

  static Value Apply(char sign, int64_t a, int64_t b) {
    if ((sign == '/' || sign == '%') && b == 0) return std::nullopt;
    const absl::int128 wide = sign == '+'   ? absl::int128(a) + b
                              : sign == '-' ? absl::int128(a) - b
                              : sign == '*' ? absl::int128(a) * b
                              : sign == '/' ? absl::int128(a) / b
                                            : absl::int128(a) % b;
    const absl::int128 most = std::numeric_limits<int64_t>::max();
    if (wide > most || wide < -most) return std::nullopt;
    return static_cast<int64_t>(wide);
  }

  Value Sum(int depth) {
    Value out = Product(depth);
    while (out.has_value()) {
      const char sign = Take("+-");
      if (sign == '\0') break;
      const Value right = Product(depth);
      out = right.has_value() ? Apply(sign, *out, *right) : right;
    }
    return out;
  }

  Value Product(int depth) {
    Value out = Atom(depth);
    while (out.has_value()) {
      const char sign = Take("*/%");
      if (sign == '\0') break;
      const Value right = Atom(depth);
      out = right.has_value() ? Apply(sign, *out, *right) : right;
    }
    return out;
  }

  Value Atom(int depth) {
    if (depth > kMaxShellDepth) return std::nullopt;
    if (Take("-") != '\0') {
      const Value out = Atom(depth + 1);
      return out.has_value() ? Value(-*out) : out;
    }
    if (Take("(") != '\0') {
      const Value out = Sum(depth + 1);
      return Take(")") != '\0' ? out : std::nullopt;
    }
    size_t end = 0;
    while (end < text_.size() && IsNameByte(text_[end])) ++end;
    const std::string word(text_.substr(0, end));
    text_.remove_prefix(end);
    int64_t value = 0;
    if (absl::SimpleAtoi(word, &value)) return value;
    const auto found = variables_.find(word);
    if (found == variables_.end() || !absl::SimpleAtoi(found->second, &value)) return std::nullopt;
    return value;
  }

  absl::string_view text_;
  const ShellVariables& variables_;
};

}  // namespace

bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::optional<int64_t> ShellSum(absl::string_view text, const ShellVariables& variables) {
  return SumReader(text, variables).Read();
}

void ShellWords::Fail(absl::string_view why) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(why);
  at_ = text_.size();
}

void ShellWords::SkipBlanks() {
  for (;;) {
    if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
      Skip(1);
    } else if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      Skip(peek(1) == '\n' ? 2 : 3);
    } else if (peek() == '#') {
      Skip(std::min(rest().find('\n'), rest().size()));
    } else {
      return;
    }
  }
}

void ShellWords::Put(absl::string_view text, Fields& out) {
  put_ += text.size() + 1;
  if (put_ > kMaxExpandedBytes) {
    return Fail("its variables expand to more than 4 MiB: write their values");
  }
  out.last.append(text.data(), text.size());
  out.begun = true;
}

void ShellWords::PutOpen(absl::string_view name, Fields& out) {
  Put(absl::StrCat(std::string(1, kOpenMark), name), out);
}

void ShellWords::PutSplit(const std::string& value, bool quoted, Fields& out) {
  if (quoted || !out.splits) return Put(value, out);
  for (size_t i = 0; i < value.size() && status_.ok();) {
    const size_t end = std::min(value.find_first_of(" \t\r\n", i), value.size());
    if (end > i) Put(absl::string_view(value).substr(i, end - i), out);
    i = value.find_first_not_of(" \t\r\n", end);
    if (end == value.size()) return;
    if (out.begun) {
      put_ += kFieldBytes;
      out.done.push_back(std::move(out.last));
      out.last.clear();
      out.begun = false;
    }
    if (i == std::string::npos) return;
  }
}

void ShellWords::PutArray(const std::string& name, bool quoted, Fields& out) {
  state_.used.insert(name);
  const auto found = state_.arrays.find(name);
  if (found == state_.arrays.end()) return PutVariable(name, quoted, out);
  for (size_t i = 0; i < found->second.size() && status_.ok(); ++i) {
    if (i > 0) PutSplit(" ", false, out);  // the next field
    PutSplit(found->second[i], quoted, out);
  }
}

void ShellWords::PutVariable(const std::string& name, bool quoted, Fields& out) {
  state_.used.insert(name);
  const auto array = state_.arrays.find(name);
  const auto found = state_.variables.find(name);
  if (found != state_.variables.end()) return PutSplit(found->second, quoted, out);
  if (array != state_.arrays.end() && !array->second.empty()) {
    return PutSplit(array->second.front(), quoted, out);
  }
  PutOpen(name, out);
}

void ShellWords::SkipCommand(char open, char close) {
  char quote = '\0';
  for (size_t depth = 1; depth > 0; Skip(1)) {
    if (at_end()) return Fail("a $( or a ` has no end: close it");
    const char c = peek();
    if (c == '\\' && quote != '\'') {
      Skip(1);
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (open != '`' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == close) {
      --depth;
    } else if (c == open) {
      ++depth;
    }
  }
}

void ShellWords::ReadSum(Fields& out) {
  const size_t begin = at_;
  size_t depth = 0;
  for (; !at_end(); Skip(1)) {
    if (depth == 0 && peek() == ')' && peek(1) == ')') break;
    if (peek() == '(') ++depth;
    if (peek() == ')') --depth;  // not below 0: a single one ends no sum
    if (depth > text_.size()) break;
  }
  if (peek() != ')') return Fail("a $(( has no end: close it");
  ShellWords inner(text_.substr(begin, at_ - begin), state_);
  inner.depth_ = depth_ + 1;
  Skip(2);
  Fields sum = {.splits = false};
  while (!inner.at_end() && inner.depth_ <= kMaxShellDepth && inner.status_.ok()) {
    if (inner.peek() == '$') {
      inner.ReadDollar(true, sum);
    } else {
      inner.Put(inner.rest().substr(0, 1), sum);
      inner.Skip(1);
    }
  }
  put_ += inner.put_;
  if (!inner.status_.ok()) return Fail(inner.status_.message());
  const std::optional<int64_t> value = ShellSum(sum.last, state_.variables);
  value.has_value() ? Put(absl::StrCat(*value), out) : PutOpen("((...))", out);
}

// After "${NAME" what is done with it.
void ShellWords::ReadOperator(const std::string& name, bool quoted, Fields& out) {
  state_.used.insert(name);
  const bool colon = peek() == ':';
  const char kind = peek(colon ? 1 : 0);
  const auto found = state_.variables.find(name);
  const bool array = state_.arrays.count(name) > 0;
  const bool known = array || found != state_.variables.end();
  const bool set = array || (known && (!colon || !found->second.empty()));
  const bool takes = kind == '-' || kind == '=' || kind == '+' || kind == '?';
  if (takes) Skip(colon ? 2 : 1);
  Fields other = {.splits = !quoted && out.splits};
  ReadPart('}', other);
  if (peek() != '}') return Fail("a ${ has no end: close it");
  Skip(1);
  if (!takes) return PutOpen(name, out);
  if (kind == '+' && !set) return;  // nothing
  if (kind != '+' && set) return PutVariable(name, quoted, out);
  if (kind == '?') return PutOpen(name, out);
  // The default: the environment may say otherwise.
  other.done.push_back(other.last);
  std::string value;
  for (size_t i = 0; i < other.done.size(); ++i) {
    absl::StrAppend(&value, i > 0 ? " " : "", other.done[i]);
  }
  if (kind == '=') state_.variables[name] = value;
  PutSplit(value, quoted, out);
}

void ShellWords::ReadBraces(bool quoted, Fields& out) {
  if (++depth_ > kMaxShellDepth) {
    return Fail("its expansions are nested more than 16 deep: write their values");
  }
  const bool plain = IsNameByte(peek());
  std::string name;
  for (; IsNameByte(peek()); Skip(1)) name.push_back(peek());
  if (plain && (absl::StartsWith(rest(), "[@]") || absl::StartsWith(rest(), "[*]"))) {
    Skip(3);
    if (peek() == '}') {
      Skip(1);
      --depth_;
      return PutArray(name, quoted, out);
    }
  }
  if (plain && peek() == '}') {
    Skip(1);
    PutVariable(name, quoted, out);
  } else if (plain) {
    ReadOperator(name, quoted, out);
  } else {  // a length, another variable's name, or a special one
    Fields passed = {.splits = false};
    ReadPart('}', passed);
    if (peek() != '}') return Fail("a ${ has no end: close it");
    Skip(1);
    PutOpen("{...}", out);
  }
  --depth_;
}

void ShellWords::ReadDollar(bool quoted, Fields& out) {
  Skip(1);
  const char c = peek();
  if (c == '(' && peek(1) == '(') {
    Skip(2);
    if (++depth_ > kMaxShellDepth) {
      return Fail("its expansions are nested more than 16 deep: write their values");
    }
    ReadSum(out);
    --depth_;
  } else if (c == '(') {
    Skip(1);
    const absl::string_view command = rest();
    SkipCommand('(', ')');
    const auto sum = ShellExpr(command.substr(0, command.find(')')), state_.variables);
    sum.has_value() ? Put(absl::StrCat(*sum), out) : PutOpen("(...)", out);
  } else if (c == '{') {
    Skip(1);
    ReadBraces(quoted, out);
  } else if (absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
             (c != '\0' && absl::string_view("@*#?$!-").find(c) != absl::string_view::npos)) {
    Skip(1);
    PutOpen(std::string(1, c), out);
  } else if (IsNameByte(c)) {
    std::string name;
    for (; IsNameByte(peek()); Skip(1)) name.push_back(peek());
    PutVariable(name, quoted, out);
  } else if (!(c == '\'' && !quoted)) {  // $'...' is read as '...'
    Put("$", out);
  }
}

void ShellWords::ReadSingle(Fields& out) {
  Skip(1);
  const size_t end = rest().find('\'');
  if (end == absl::string_view::npos) return Fail("a quote has no end: close it");
  Put(rest().substr(0, end), out);
  Skip(end + 1);
}

void ShellWords::ReadQuoted(Fields& out) {
  Skip(1);
  Put("", out);
  while (peek() != '"') {
    if (at_end()) return Fail("a quote has no end: close it");
    const char next = peek(1);
    if (peek() == '$') {
      ReadDollar(true, out);
    } else if (peek() == '`') {
      Skip(1);
      SkipCommand('`', '`');
      PutOpen("(...)", out);
    } else if (peek() == '\\' && (next == '\n' || (next == '\r' && peek(2) == '\n'))) {
      Skip(next == '\n' ? 2 : 3);
    } else if (peek() == '\\' && absl::string_view("$`\"\\").find(next) != std::string::npos) {
      Put(rest().substr(1, 1), out);
      Skip(2);
    } else {
      const size_t end = std::min(rest().find_first_of("\"$`\\", 1), rest().size());
      Put(rest().substr(0, end), out);
      Skip(end);
    }
  }
  Skip(1);
}

// Up to `stop`, or where '\0' to the end of a word.
void ShellWords::ReadPart(char stop, Fields& out) {
  while (!at_end() && status_.ok()) {
    const char c = peek();
    if (stop != '\0' ? c == stop : EndsWord(c)) return;
    if (c == '\'') {
      ReadSingle(out);
    } else if (c == '"') {
      ReadQuoted(out);
    } else if (c == '$') {
      ReadDollar(false, out);
    } else if (c == '`') {
      Skip(1);
      SkipCommand('`', '`');
      PutOpen("(...)", out);
    } else if (c == '\\') {
      if (peek(1) != '\n') Put(rest().substr(1, 1), out);
      Skip(2);
    } else {
      const std::string stops = absl::StrCat("'\"$`\\", stop == '\0' ? kEndsWord : "}");
      const size_t end = std::min(rest().find_first_of(stops, 1), rest().size());
      Put(rest().substr(0, end), out);
      Skip(end);
    }
  }
}

std::vector<std::string> ShellWords::Read() {
  Fields out;
  ReadPart('\0', out);
  if (out.begun) out.done.push_back(std::move(out.last));
  return std::move(out.done);
}

std::string ShellWords::ReadValue() {
  Fields out = {.splits = false};
  ReadPart('\0', out);
  return std::move(out.last);
}

}  // namespace sextant::server
