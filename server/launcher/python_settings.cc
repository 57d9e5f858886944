#include "server/launcher/python_settings.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/python_words.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;
using Kind = PythonWord::Kind;

constexpr char kOpen[] = "auto";  // as SettingFile has it

// Of all values together: a name can stand for a list that holds names.
constexpr int64_t kMaxValues = 100'000;
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
  if (depth > kMaxDepth) return kMaxValues;
  int64_t out = 1;
  if (value.is_structured()) {
    for (const Json& each : value) out += SizeOf(each, depth + 1);
  }
  return out;
}

using Names = std::map<std::string, Json>;

// Evaluates the words of an expression. Brackets are balanced and at most 32 deep.
class Evaluator {
 public:
  Evaluator(const std::vector<PythonWord>& words, size_t first, const Names& names,
            const Names& functions, int64_t& budget)
      : words_(words), at_(first), names_(names), functions_(functions), budget_(budget) {}

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
    return !done() && words_[at_].kind == Kind::kMark && words_[at_].text == mark;
  }
  bool IsName(const char* name) const {
    return !done() && words_[at_].kind == Kind::kName && words_[at_].text == name;
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
    if (word.kind == Kind::kNumber) {
      ++at_;
      return NumberOf(word.text);
    }
    if (word.kind == Kind::kText) return Text();
    if (word.kind == Kind::kName) return Name();
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
    for (; !done() && words_[at_].kind == Kind::kText; ++at_) {
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
    const auto known = names_.find(name);
    Json value = known == names_.end() ? Json() : Use(known->second);
    bool has_value = known != names_.end();
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
      const auto function = functions_.find(name);
      if (function != functions_.end()) return Use(function->second);
      call[kPythonCallee] = name;
      return call;
    }
    return has_value ? value : Json(name);
  }

  // Adds the arguments of a call whose "(" was taken.
  void Call(Json& call) {
    if (call.is_null()) call = Json::object();
    while (!done() && !TakeIf(")")) {
      const bool keyword = words_[at_].kind == Kind::kName && at_ + 1 < words_.size() &&
                           words_[at_ + 1].kind == Kind::kMark && words_[at_ + 1].text == "=";
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

  // A copy of what a name stands for, as long as all copies are of a sound size.
  Json Use(const Json& value) {
    budget_ -= SizeOf(value);
    return budget_ > 0 ? value : Json(kOpen);
  }

  const std::vector<PythonWord>& words_;
  size_t at_;
  const Names& names_;
  const Names& functions_;
  int64_t& budget_;
};

bool IsMark(const PythonWord& word, const char* mark) {
  return word.kind == Kind::kMark && word.text == mark;
}

bool StartsBlock(const PythonLine& line) {
  const std::string& word = line.words.front().text;
  return absl::c_linear_search(
             std::initializer_list<const char*>{"if", "elif", "else", "for", "while", "try",
                                                "except", "match", "case"},
             word) &&
         line.words.front().kind == Kind::kName;
}

// Walks the statements in order.
class Interpreter {
 public:
  std::vector<PythonSettings> Run(const std::vector<PythonLine>& lines) {
    for (const PythonLine& line : lines) Take(line);
    EndFunction();
    Json outside = Json::object();
    for (auto& [name, value] : names_) {
      if (value.is_object() && value.size() > outside.size()) outside = value;
    }
    if (out_.empty() && !outside.empty()) out_.push_back({.values = std::move(outside)});
    return std::move(out_);
  }

 private:
  void Take(const PythonLine& line) {
    const PythonWord& first = line.words.front();
    if (line.indent == 0 && first.kind == Kind::kName) {
      EndFunction();
      const bool def = first.text == "def" && line.words.size() > 1;
      if (def || first.text == "class" || first.text == "@") {
        in_function_ = true;
        function_ = def ? line.words[1].text : "";
        local_ = names_;
        return;
      }
    }
    // Past the block that an `if` or a loop opened.
    while (!blocks_.empty() && line.indent <= blocks_.back()) blocks_.pop_back();
    if (StartsBlock(line)) return blocks_.push_back(line.indent);
    if (in_function_ && function_.empty()) return;  // a class
    if (first.kind == Kind::kName && first.text == "return") return Return(line);
    Assign(line);
  }

  void EndFunction() {
    blocks_.clear();
    in_function_ = false;
    if (!result_.is_null()) {
      functions_[function_] = result_;
      out_.push_back({.function = function_, .values = std::move(result_)});
    }
    result_ = nullptr;
  }

  Json Evaluated(const PythonLine& line, size_t first) {
    Json out = Evaluator(line.words, first, names(), functions_, budget_).Whole();
    return blocks_.empty() ? out : Json(kOpen);
  }

  void Return(const PythonLine& line) {
    if (!blocks_.empty()) return;
    Json value = Evaluated(line, 1);
    if (value.is_object()) result_ = std::move(value);
  }

  // `a.b.c = value`, and `a: Type = value`.
  void Assign(const PythonLine& line) {
    const std::vector<PythonWord>& words = line.words;
    std::vector<std::string> path;
    size_t at = 0;
    while (at < words.size() && words[at].kind == Kind::kName) {
      path.push_back(words[at++].text);
      if (at >= words.size() || !IsMark(words[at], ".")) break;
      ++at;
    }
    if (path.empty()) return;
    if (at < words.size() && IsMark(words[at], ":")) {
      while (at < words.size() && !IsMark(words[at], "=")) ++at;
    }
    if (at + 1 >= words.size() || !IsMark(words[at], "=")) return;
    Json value = Evaluated(line, at + 1);
    Json* node = &names()[path.front()];
    for (size_t i = 1; i < path.size(); ++i) {
      if (!node->is_object()) *node = Json::object();
      node = &(*node)[path[i]];
    }
    *node = std::move(value);
  }

  Names& names() { return in_function_ ? local_ : names_; }

  bool in_function_ = false;  // or in a class, with no name of its own
  std::string function_;
  Json result_;
  std::vector<int> blocks_;  // columns of the statements that opened blocks
  Names names_;              // outside of functions
  Names local_;
  Names functions_;
  int64_t budget_ = kMaxValues;
  std::vector<PythonSettings> out_;
};

}  // namespace

absl::StatusOr<std::vector<PythonSettings>> ReadPythonSettings(const std::string& text) {
  const absl::StatusOr<std::vector<PythonLine>> lines = PythonLinesOf(text);
  if (!lines.ok()) return lines.status();
  return Interpreter().Run(*lines);
}

absl::StatusOr<PythonSettings> ChosenPythonSettings(const std::string& name,
                                                    const std::string& text) {
  absl::StatusOr<std::vector<PythonSettings>> all = ReadPythonSettings(text);
  if (!all.ok()) return all.status();
  std::vector<std::string> functions;
  for (PythonSettings& each : *all) {
    const bool chosen = absl::EndsWith(name, absl::StrCat(":", each.function));
    if (all->size() == 1 || chosen) return std::move(each);
    functions.push_back(each.function);
  }
  if (functions.empty()) {
    return absl::InvalidArgumentError("none of its functions returns settings that are literals");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "it configures several runs: name one after a colon, e.g. FILE:", functions.front(),
      "; all: ", absl::StrJoin(functions, ", ")));
}

}  // namespace sextant::server
