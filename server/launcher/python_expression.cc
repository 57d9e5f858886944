#include "server/launcher/python_expression.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/python_settings.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;
using WordKind = PythonWord::Kind;

constexpr const char* kOpen = kPythonOpen;

constexpr int kMaxDepth = 64;

std::string NumberText(const std::string& text) { return absl::StrReplaceAll(text, {{"_", ""}}); }

Json NumberOf(const std::string& text) {
  const std::string digits = NumberText(text);
  int64_t whole = 0;
  if (absl::SimpleAtoi(digits, &whole)) return whole;
  if (absl::StartsWith(digits, "0x") && absl::SimpleHexAtoi(digits, &whole)) return whole;
  double value = 0;
  if (absl::SimpleAtod(digits, &value) && std::isfinite(value)) return value;
  return kOpen;
}

// "[0] * 3 + [1] * 58".
Json ComputedList(const Json& a, const std::string& mark, const Json& b) {
  constexpr size_t kMaxItems = 10'000;
  Json out = Json::array();
  if (mark == "+" && b.is_array() && a.size() + b.size() <= kMaxItems) {
    out = a;
    out.insert(out.end(), b.begin(), b.end());
  } else if (mark == "*" && b.is_number_integer() && b >= 0 && b <= kMaxItems &&
             a.size() * b.get<size_t>() <= kMaxItems) {
    for (size_t i = 0; i < b.get<size_t>(); ++i) out.insert(out.end(), a.begin(), a.end());
  } else {
    return kOpen;
  }
  return out;
}

Json Computed(const Json& a, const std::string& mark, const Json& b) {
  if (a.is_array()) return ComputedList(a, mark, b);
  if (!a.is_number() || !b.is_number()) return kOpen;
  const bool whole = a.is_number_integer() && b.is_number_integer();
  const double x = a.get<double>();
  const double y = b.get<double>();
  double out = NAN;
  if (mark == "*") out = x * y;
  if (mark == "+") out = x + y;
  if (mark == "-") out = x - y;
  if (mark == "**") out = std::pow(x, y);
  if (mark == "//" && y != 0) out = std::floor(x / y);
  if (mark == "/" && y != 0) out = x / y;
  if (!std::isfinite(out)) return kOpen;
  // Exact up to 2^53; settings are smaller.
  const bool fits = std::abs(out) < 9e15 && out == std::floor(out);
  return whole && mark != "/" && fits ? Json(static_cast<int64_t>(out)) : Json(out);
}

// Its values, or more than are allowed where it is nested too deep.
int64_t SizeOf(const Json& value, int depth = 0) {
  if (depth > kMaxDepth) return std::numeric_limits<int32_t>::max();
  int64_t out = 1;
  if (value.is_structured()) {
    for (const Json& each : value) out += SizeOf(each, depth + 1);
  }
  return out;
}

// Evaluates the words of an expression. Brackets are balanced and at most 32 deep.
class Evaluator {
 public:
  Evaluator(const std::vector<PythonWord>& words, size_t first, PythonScope& scope)
      : words_(words), at_(first), scope_(scope) {}

  // The value of all that is left.
  Json Whole() {
    Json out = Sum();
    if (Is(",")) {
      Json list = Json::array({std::move(out)});
      while (TakeIf(",") && !done()) list.push_back(Sum());
      out = std::move(list);
    }
    return done() ? out : Json(kOpen);
  }

 private:
  bool done() const { return at_ >= words_.size(); }
  bool Is(const char* mark) const {
    return !done() && words_[at_].kind == WordKind::kMark && words_[at_].text == mark;
  }
  bool TakeIf(const char* mark) {
    if (!Is(mark)) return false;
    ++at_;
    return true;
  }

  Json Sum() {
    Json out = Product();
    while (Is("+") || Is("-")) {
      const std::string mark = words_[at_++].text;
      out = Computed(out, mark, Product());
    }
    return SkipRest(std::move(out));
  }
  Json Product() {
    Json out = Power();
    while (Is("*") || Is("/") || Is("//")) {
      const std::string mark = words_[at_++].text;
      out = Computed(out, mark, Power());
    }
    return out;
  }
  Json Power() {
    bool negative = false;
    while (Is("-") || Is("+")) negative = (words_[at_++].text == "-") != negative;
    Json out = Postfix();
    if (TakeIf("**")) out = Computed(out, "**", Postfix());
    return negative ? Computed(0, "-", out) : out;
  }

  // Passes over what no setting has, such as `a if b else c`, up to the end of the value.
  Json SkipRest(Json value) {
    bool skipped = false;
    for (int depth = 0; !done(); ++at_) {
      const bool opens = Is("(") || Is("[") || Is("{");
      const bool closes = Is(")") || Is("]") || Is("}");
      if (depth == 0 && (closes || Is(",") || Is(":") || Is("="))) break;
      depth += opens ? 1 : closes ? -1 : 0;
      skipped = true;
    }
    return skipped ? Json(kOpen) : value;
  }

  Json Postfix() {
    if (done()) return kOpen;
    const PythonWord& word = words_[at_];
    if (word.kind == WordKind::kNumber) {
      ++at_;
      return NumberOf(word.text);
    }
    if (word.kind == WordKind::kText) return Text();
    if (word.kind == WordKind::kName) return Name();
    if (TakeIf("(")) {
      bool comma = false;
      Json list = Items(")", &comma);
      return list.size() == 1 && !comma ? Json(list.front()) : list;
    }
    if (TakeIf("[")) return Items("]");
    if (TakeIf("{")) return Dict();
    ++at_;
    return kOpen;
  }

  Json Text() {
    std::string out;
    bool formatted = false;
    for (; !done() && words_[at_].kind == WordKind::kText; ++at_) {
      out += words_[at_].text;
      formatted = formatted || words_[at_].formatted;
    }
    return formatted ? Json(kOpen) : Json(out);
  }

  Json Items(const char* end, bool* comma = nullptr) {
    Json out = Json::array();
    while (!done() && !TakeIf(end)) {
      out.push_back(Sum());
      if (TakeIf(",")) {
        if (comma != nullptr) *comma = true;
      } else if (!Is(end)) {
        ++at_;
      }
    }
    return out;
  }

  Json Dict() {
    Json out = Json::object();
    while (!done() && !TakeIf("}")) {
      const Json key = Sum();
      Json value = TakeIf(":") ? Sum() : Json(kOpen);
      if (key.is_string()) out[key.get<std::string>()] = std::move(value);
      if (!TakeIf(",") && !Is("}")) ++at_;
    }
    return out;
  }

  // A name, with its members and calls: `torch.bfloat16`, `cfg.model`, `A.b("x").c(d=1)`.
  Json Name() {
    std::string name = words_[at_++].text;
    if (name == "True" || name == "False") return name == "True";
    if (name == "None") return nullptr;
    const auto known = scope_.names.find(name);
    Json value = known == scope_.names.end() ? Json() : scope_.CopyOf(known->second);
    bool has_value = known != scope_.names.end();
    Json call;  // the object of the calls in the chain
    while (Is(".") || Is("(") || Is("[")) {
      if (TakeIf(".")) {
        if (done()) return kOpen;
        const std::string member = words_[at_++].text;
        absl::StrAppend(&name, ".", member);
        if (has_value && value.is_object() && value.contains(member)) {
          Json inner = value[member];
          value = std::move(inner);
        } else {
          has_value = false;
        }
      } else if (TakeIf("[")) {
        (void)Items("]");
        return SkipRest(kOpen);
      } else {
        ++at_;
        Call(call);
        has_value = false;
      }
    }
    if (!call.is_null()) {
      const auto function = scope_.functions.find(name);
      if (function != scope_.functions.end()) return scope_.CopyOf(function->second);
      call[kPythonCallee] = name;
      return call;
    }
    return has_value ? value : Json(name);
  }

  // Adds the arguments of a call whose "(" was taken.
  void Call(Json& call) {
    if (call.is_null()) call = Json::object();
    while (!done() && !TakeIf(")")) {
      const bool keyword = words_[at_].kind == WordKind::kName && at_ + 1 < words_.size() &&
                           words_[at_ + 1].kind == WordKind::kMark && words_[at_ + 1].text == "=";
      if (keyword) {
        const std::string name = words_[at_].text;
        at_ += 2;
        call[name] = Sum();
      } else {
        call[kPythonArguments].push_back(Sum());
      }
      if (!TakeIf(",") && !Is(")")) ++at_;
    }
  }

  const std::vector<PythonWord>& words_;
  size_t at_;
  PythonScope& scope_;
};

}  // namespace

Json PythonScope::CopyOf(const Json& value) {
  if (budget > 0) budget -= SizeOf(value);
  return budget > 0 ? value : Json(kOpen);
}

Json PythonValueOf(const std::vector<PythonWord>& words, size_t first, PythonScope& scope) {
  return Evaluator(words, first, scope).Whole();
}

}  // namespace sextant::server
