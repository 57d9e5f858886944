#include "proto/words/config_text.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sextant::words {
namespace {

// The index after the text that starts with the quote at `start`; the end where it has no end.
size_t AfterText(absl::string_view json, size_t start) {
  for (size_t i = start + 1; i < json.size(); ++i) {
    if (json[i] == '\\') {
      ++i;  // and the character that it escapes
    } else if (json[i] == '"') {
      return i + 1;
    }
  }
  return json.size();
}

// The index after the object that starts at `start`.
size_t AfterObject(absl::string_view json, size_t start) {
  int depth = 0;
  for (size_t i = start; i < json.size();) {
    if (json[i] == '"') {
      i = AfterText(json, i);
      continue;
    }
    if (json[i] == '{') ++depth;
    if (json[i] == '}' && --depth == 0) return i + 1;
    ++i;
  }
  return json.size();
}

size_t AfterBlanks(absl::string_view json, size_t start) {
  const size_t found = json.find_first_not_of(" \t\r\n", start);
  return found == absl::string_view::npos ? json.size() : found;
}

// The start of the object that the field with the name before `name_end` has; the end of `json`
// where it has another value.
size_t ObjectOfField(absl::string_view json, size_t name_end) {
  const size_t colon = AfterBlanks(json, name_end);
  if (colon >= json.size() || json[colon] != ':') return json.size();
  const size_t value = AfterBlanks(json, colon + 1);
  return value < json.size() && json[value] == '{' ? value : json.size();
}

}  // namespace

std::string WithoutQuantization(absl::string_view json) {
  int depth = 0;
  for (size_t i = 0; i < json.size();) {
    if (json[i] == '"') {
      const size_t end = AfterText(json, i);
      if (depth == 1 && json.substr(i, end - i) == "\"quantization_config\"") {
        const size_t object = ObjectOfField(json, end);
        if (object < json.size()) {
          return absl::StrCat(json.substr(0, object), "{}", json.substr(AfterObject(json, object)));
        }
      }
      i = end;
      continue;
    }
    if (json[i] == '{' || json[i] == '[') ++depth;
    if (json[i] == '}' || json[i] == ']') --depth;
    ++i;
  }
  return std::string(json);
}

std::string WithFiniteNumbers(absl::string_view json) {
  constexpr absl::string_view kInfinity = "Infinity";
  std::string out;
  size_t kept = 0;  // `json` up to here is in `out`
  for (size_t i = 0; i < json.size();) {
    if (json[i] == '"') {
      i = AfterText(json, i);
    } else if (json[i] == 'I' && absl::StartsWith(json.substr(i), kInfinity) &&
               (i == 0 || json[i - 1] != '-')) {
      absl::StrAppend(&out, json.substr(kept, i - kept), "1e308");
      i += kInfinity.size();
      kept = i;
    } else {
      ++i;
    }
  }
  return absl::StrCat(out, json.substr(kept));
}

}  // namespace sextant::words
