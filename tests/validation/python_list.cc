#include "tests/validation/python_list.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr size_t kMaxEntries = 100'000;
constexpr int kMaxDepth = 16;

using List = std::vector<int64_t>;

// Recursive descent: sum := product ('+' product)*; product := item ('*' number)*;
// item := '(' sum ')' | '[' (number (',' number)*)? ']'.
class Parser {
 public:
  explicit Parser(absl::string_view text) {
    for (const char c : text) {
      if (!absl::ascii_isspace(static_cast<unsigned char>(c))) text_ += c;
    }
  }

  absl::StatusOr<List> All() {
    SEXTANT_ASSIGN_OR_RETURN(List out, Sum(0));
    if (at_ != text_.size()) return Wrong();
    return out;
  }

 private:
  absl::StatusOr<List> Sum(int depth) {
    if (depth > kMaxDepth) return Wrong();
    SEXTANT_ASSIGN_OR_RETURN(List out, Product(depth));
    while (Take('+')) {
      SEXTANT_ASSIGN_OR_RETURN(const List more, Product(depth));
      out.insert(out.end(), more.begin(), more.end());
      if (out.size() > kMaxEntries) return Wrong();
    }
    return out;
  }

  absl::StatusOr<List> Product(int depth) {
    SEXTANT_ASSIGN_OR_RETURN(List out, Item(depth));
    while (Take('*')) {
      SEXTANT_ASSIGN_OR_RETURN(const int64_t times, Number());
      if (times > static_cast<int64_t>(kMaxEntries) ||
          out.size() * static_cast<size_t>(times) > kMaxEntries) {
        return Wrong();
      }
      List repeated;
      for (int64_t i = 0; i < times; ++i) repeated.insert(repeated.end(), out.begin(), out.end());
      out = std::move(repeated);
    }
    return out;
  }

  absl::StatusOr<List> Item(int depth) {
    if (Take('(')) {
      SEXTANT_ASSIGN_OR_RETURN(List out, Sum(depth + 1));
      if (!Take(')')) return Wrong();
      return out;
    }
    List out;
    if (!Take('[')) return Wrong();
    if (Take(']')) return out;
    do {
      SEXTANT_ASSIGN_OR_RETURN(const int64_t number, Number());
      out.push_back(number);
    } while (Take(','));
    if (!Take(']')) return Wrong();
    return out;
  }

  absl::StatusOr<int64_t> Number() {
    size_t end = at_;
    while (end < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    int64_t out = 0;
    if (!absl::SimpleAtoi(absl::string_view(text_).substr(at_, end - at_), &out)) return Wrong();
    at_ = end;
    return out;
  }

  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  absl::Status Wrong() const {
    return absl::InvalidArgumentError(absl::StrCat("no list of whole numbers: ", text_));
  }

  std::string text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<int64_t>> PythonList(absl::string_view text) {
  return Parser(text).All();
}

}  // namespace sextant
