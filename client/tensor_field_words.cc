#include "client/tensor_field_words.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace sextant {
namespace {

// "select.axis" is " (axis)": the step's own name is in its text already.
std::string PartOf(absl::string_view rest) {
  absl::ConsumePrefix(&rest, ".");
  const size_t name_end = rest.find('.');
  if (name_end == absl::string_view::npos) return "";
  return absl::StrCat(" (", absl::StrReplaceAll(rest.substr(name_end + 1), {{"_", " "}}), ")");
}

// A step as it was written, as far as a line of an error has room.
std::string Quoted(absl::string_view step) {
  constexpr size_t kMostBytes = 64;
  if (step.size() <= kMostBytes) return absl::StrCat("\"", step, "\"");
  size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(step[end]) & 0xC0U) == 0x80U) --end;  // in UTF-8
  return absl::StrCat("\"", step.substr(0, end), "...\"");
}

}  // namespace

std::string TensorFieldWords(const std::vector<std::string>& steps, const std::string& field) {
  absl::string_view rest = field;
  size_t index = 0;
  if (absl::ConsumePrefix(&rest, "steps[")) {
    const size_t end = rest.find(']');
    if (end == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, end), &index) ||
        index >= steps.size()) {
      return field;
    }
    return absl::StrCat("STEP ", index + 1, ", ", Quoted(steps[index]),
                        PartOf(rest.substr(end + 1)));
  }
  if (field == "steps") return "STEP";
  if (absl::StartsWith(field, "tensor.shape")) return "SHAPE";
  if (absl::StartsWith(field, "tensor.strides")) return "--strides";
  if (field == "tensor.data_type") return "--dtype";
  if (field == "tensor.offset_elements") return "--offset";
  if (field == "tensor.storage_elements") return "--storage";
  return field;
}

std::string TokensFieldWords(const std::string& field) {
  if (field == "token_count") return "COUNT";
  if (field == "vocabulary_size") return "--vocabulary";
  if (field == "bytes_per_id") return "--bytes-per-id";
  if (field == "tokens_per_second") return "--tokens-per-second";
  return field;
}

}  // namespace sextant
