#include "server/connect/json_scanner.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/text.h"

namespace sextant::server {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

bool IsHexadecimal(absl::string_view hexadecimal) {
  for (const char c : hexadecimal) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

void AppendUtf8(unsigned point, std::string* out) {
  const auto append = [out](unsigned byte) { out->push_back(static_cast<char>(byte)); };
  const auto more = [&append, point](unsigned shift) { append(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    append(point);
  } else if (point < 0x800) {
    append(0xC0 | (point >> 6));
    more(0);
  } else if (point < 0x10000) {
    append(0xE0 | (point >> 12));
    more(6);
    more(0);
  } else {
    append(0xF0 | (point >> 18));
    more(12);
    more(6);
    more(0);
  }
}

}  // namespace

char JsonScanner::Peek() {
  while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonScanner::Consume(char c) {
  if (Peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

bool JsonScanner::ConsumeWord(absl::string_view word) {
  Peek();
  if (!absl::StartsWith(text_.substr(at_), word)) return false;
  at_ += word.size();
  return true;
}

bool JsonScanner::Fault(absl::string_view what) {
  fault_ = absl::StrCat("is not JSON at byte ", at_, ": ", what);
  return false;
}

bool JsonScanner::Expect(char c) {
  if (Consume(c)) return true;
  if (at_ == text_.size()) return Fault(absl::StrFormat("it ends where %c has to follow", c));
  const absl::string_view found = text_.substr(at_, 1);
  const bool is_shown = absl::ascii_isprint(static_cast<unsigned char>(found[0]));
  return Fault(absl::StrCat(std::string(1, c), " has to follow, not ",
                            is_shown ? std::string(found) : absl::CHexEscape(found)));
}

bool JsonScanner::ExpectEnd() {
  Peek();
  return at_ == text_.size() || Fault("the object has ended, and more follows");
}

bool JsonScanner::ReadString(absl::string_view* out) {
  if (!Expect('"')) return false;
  const size_t begin = at_;
  while (at_ < text_.size() && IsPlain(text_[at_])) ++at_;
  if (at_ == text_.size() || text_[at_] != '"') return ReadEscaped(begin, out);
  *out = text_.substr(begin, at_++ - begin);
  return true;
}

bool JsonScanner::ReadEscaped(size_t begin, absl::string_view* out) {
  unescaped_ = std::string(text_.substr(begin, at_ - begin));
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] == '\\') {
      if (!ReadEscape()) return false;
      continue;
    }
    const size_t length = Utf8Length(text_.substr(at_, 4));
    if (length == 0) return Fault("bytes of a text are not UTF-8");
    if (static_cast<unsigned char>(text_[at_]) < 0x20) {
      return Fault("a control character of a text has to be escaped, as \\n or \\u001b");
    }
    absl::StrAppend(&unescaped_, text_.substr(at_, length));
    at_ += length;
  }
  *out = unescaped_;
  return Expect('"');
}

bool JsonScanner::ReadUnit(unsigned* unit) {
  const absl::string_view digits = text_.substr(at_, 4);
  if (digits.size() < 4 || !IsHexadecimal(digits)) return Fault("\\u has to have four digits");
  *unit = static_cast<unsigned>(std::stoul(std::string(digits), nullptr, 16));
  at_ += 4;
  return true;
}

bool JsonScanner::ReadEscape() {
  constexpr absl::string_view kNames = "\"\\/bfnrt";
  constexpr absl::string_view kMeant = "\"\\/\b\f\n\r\t";
  ++at_;
  const size_t i = at_ < text_.size() ? kNames.find(text_[at_]) : kNames.npos;
  if (i != kNames.npos) {
    unescaped_.push_back(kMeant[i]);
    ++at_;
    return true;
  }
  unsigned point = 0;
  if (at_ == text_.size() || text_[at_] != 'u') return Fault("no such escape");
  ++at_;
  if (!ReadUnit(&point)) return false;
  if (point >= 0xD800 && point < 0xE000) {
    unsigned low = 0;
    if (point >= 0xDC00 || !absl::StartsWith(text_.substr(at_), "\\u")) {
      return Fault("half of a surrogate pair");
    }
    at_ += 2;
    if (!ReadUnit(&low)) return false;
    if (low < 0xDC00 || low >= 0xE000) return Fault("half of a surrogate pair");
    point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
  }
  AppendUtf8(point, &unescaped_);
  return true;
}

void JsonScanner::PassDigits() {
  while (at_ < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
}

bool JsonScanner::ReadNumber(absl::string_view* out) {
  Peek();
  const size_t begin = at_;
  const auto pass = [this](absl::string_view any) {
    const bool is_next = at_ < text_.size() && absl::StrContains(any, text_[at_]);
    at_ += is_next ? 1 : 0;
    return is_next;
  };
  const auto digits = [this] {
    const size_t first = at_;
    PassDigits();
    return at_ > first;
  };
  pass("-");
  if (!pass("0") && !digits()) return Fault("a value has to follow");
  if (pass(".") && !digits()) return Fault("a number's digits have to follow");
  if (pass("eE")) {
    pass("+-");
    if (!digits()) return Fault("a number's exponent has to follow");
  }
  *out = text_.substr(begin, at_ - begin);
  return true;
}

bool JsonScanner::SkipParts(char close, int depth) {
  if (depth >= kMaxDepth) return Fault(absl::StrCat("more than ", kMaxDepth, " levels"));
  ++at_;
  if (Consume(close)) return true;
  absl::string_view ignored;
  do {
    if (close == '}' && !(ReadString(&ignored) && Expect(':'))) return false;
    if (!Skip(depth + 1, &ignored)) return false;
  } while (Consume(','));
  return Expect(close);
}

bool JsonScanner::Skip(int depth, absl::string_view* out) {
  const char next = Peek();
  const size_t begin = at_;
  absl::string_view ignored;
  const bool is_read = next == '{'   ? SkipParts('}', depth)
                       : next == '[' ? SkipParts(']', depth)
                       : next == '"' ? ReadString(&ignored)
                                     : ConsumeWord("null") || ConsumeWord("true") ||
                                           ConsumeWord("false") || ReadNumber(&ignored);
  *out = text_.substr(begin, at_ - begin);
  return is_read;
}

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  size_t begin = 0;  // of what is not yet appended
  for (size_t i = 0; i < text.size();) {
    if (IsPlain(text[i])) {
      ++i;
      continue;
    }
    const size_t length = Utf8Length(text.substr(i, 4));
    if (length > 1) {
      i += length;
      continue;
    }
    absl::StrAppend(out, text.substr(begin, i - begin));
    if (length == 0) {
      out->append("\xEF\xBF\xBD");
    } else if (text[i] == '"' || text[i] == '\\') {
      out->append({'\\', text[i]});
    } else {
      absl::StrAppendFormat(out, "\\u%04x", text[i]);
    }
    begin = ++i;
  }
  absl::StrAppend(out, text.substr(begin));
  out->push_back('"');
}

}  // namespace sextant::server
