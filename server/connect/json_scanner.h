// A cursor over JSON text.
#ifndef SEXTANT_SERVER_CONNECT_JSON_SCANNER_H_
#define SEXTANT_SERVER_CONNECT_JSON_SCANNER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant::server {

// The text's grammar is RFC 8259's. Every function skips blanks first.
class JsonScanner {
 public:
  // Objects and lists within each other, as protobuf's own reader has it.
  static constexpr int kMaxDepth = 100;

  // `text` outlives it.
  explicit JsonScanner(absl::string_view text) : text_(text) {}

  // The next character, '\0' at the end.
  char Peek();
  // Passes `c` where it is next.
  bool Consume(char c);
  // The same of a whole word: null, true, false.
  bool ConsumeWord(absl::string_view word);

  // The functions below return false at a fault, which fault() has.
  bool Expect(char c);
  bool ExpectEnd();
  // Gives a string's text, in UTF-8, until the next call.
  bool ReadString(absl::string_view* out);
  // Gives a number as it is written.
  bool ReadNumber(absl::string_view* out);
  // Passes a value, which is within `depth` others, and gives it as it is written.
  bool Skip(int depth, absl::string_view* out);

  // "is not JSON at byte 12: ...", on one line of ASCII.
  const std::string& fault() const { return fault_; }

 private:
  bool Fault(absl::string_view what);
  bool SkipParts(char close, int depth);
  bool ReadEscaped(size_t begin, absl::string_view* out);
  bool ReadEscape();
  bool ReadUnit(unsigned* unit);
  void PassDigits();

  absl::string_view text_;
  size_t at_ = 0;
  std::string unescaped_;
  std::string fault_;
};

// Appends `text` as a JSON string. A byte that is no UTF-8 becomes U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_JSON_SCANNER_H_
