#include "server/launcher/python_settings.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/launcher/python_expression.h"
#include "server/launcher/python_words.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

bool IsMark(const PythonWord& word, const char* mark) {
  return word.kind == PythonWord::Kind::kMark && word.text == mark;
}

// `if __name__ == "__main__":` holds for a file that is started.
bool StartsBlock(const PythonLine& line) {
  const std::string& word = line.words.front().text;
  if (word == "if" && line.words.size() > 1 && line.words[1].text == "__name__") return false;
  return absl::c_linear_search(
             std::initializer_list<const char*>{"if", "elif", "else", "for", "while", "try",
                                                "except", "match", "case"},
             word) &&
         line.words.front().kind == PythonWord::Kind::kName;
}

// Walks the statements in order.
class Interpreter {
 public:
  std::vector<PythonSettings> Run(const std::vector<PythonLine>& lines) {
    for (const PythonLine& line : lines) Take(line);
    EndFunction();
    Json outside = Json::object();
    for (auto& [name, value] : scope_.names) {
      if (value.is_object() && value.size() > outside.size()) outside = value;
    }
    if (out_.empty() && !outside.empty()) out_.push_back({.values = std::move(outside)});
    return std::move(out_);
  }

 private:
  void Take(const PythonLine& line) {
    const PythonWord& first = line.words.front();
    if (line.indent == 0 && first.kind == PythonWord::Kind::kName) {
      EndFunction();
      const bool def = first.text == "def" && line.words.size() > 1;
      if (def || first.text == "class" || first.text == "@") {
        in_function_ = true;
        function_ = def ? line.words[1].text : "";
        return;
      }
    }
    // Past the block that an `if` or a loop opened.
    while (!blocks_.empty() && line.indent <= blocks_.back()) blocks_.pop_back();
    if (StartsBlock(line)) return blocks_.push_back(line.indent);
    if (in_function_ && function_.empty()) return;  // a class
    if (first.kind == PythonWord::Kind::kName && first.text == "return") return Return(line);
    Assign(line);
  }

  void EndFunction() {
    blocks_.clear();
    for (auto& [name, value] : outside_) {
      if (value.has_value()) {
        scope_.names[name] = *std::move(value);
      } else {
        scope_.names.erase(name);
      }
    }
    outside_.clear();
    in_function_ = false;
    if (!result_.is_null()) {
      scope_.functions[function_] = result_;
      out_.push_back({.function = function_, .values = std::move(result_)});
    }
    result_ = nullptr;
  }

  Json Evaluated(const PythonLine& line, size_t first) {
    Json out = PythonValueOf(line.words, first, scope_);
    return blocks_.empty() ? out : Json(kPythonOpen);
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
    while (at < words.size() && words[at].kind == PythonWord::Kind::kName) {
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
    KeepOutside(path.front());
    Json* node = &scope_.names[path.front()];
    for (size_t i = 1; i < path.size(); ++i) {
      if (!node->is_object()) *node = Json::object();
      node = &(*node)[path[i]];
    }
    *node = std::move(value);
  }

  // Keeps what `name` stands for outside of the function that sets it.
  void KeepOutside(const std::string& name) {
    if (!in_function_ || outside_.count(name) > 0) return;
    const auto found = scope_.names.find(name);
    const bool known = found != scope_.names.end();
    outside_[name] = known ? std::optional<Json>(scope_.CopyOf(found->second)) : std::nullopt;
  }

  bool in_function_ = false;  // or in a class, with no name of its own
  std::string function_;
  Json result_;
  std::vector<int> blocks_;  // columns of the statements that opened blocks
  PythonScope scope_;
  // The values that names have outside of the function being read, if it sets them.
  std::map<std::string, std::optional<Json>> outside_;
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
