#include "gpu_probe/health/json_writer.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sextant {
namespace {

std::string Quoted(absl::string_view text) {
  google::protobuf::Value value;
  value.set_string_value(std::string(text));
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(value, &json);
  return printed.ok() ? json : R"json("")json";
}

}  // namespace

JsonWriter& JsonWriter::Open(char bracket) {
  if (comma_) text_ += ',';
  text_ += bracket;
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Value(absl::string_view value) {
  absl::StrAppend(&text_, comma_ ? "," : "", value);
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(absl::string_view name) {
  absl::StrAppend(&text_, comma_ ? "," : "", Quoted(name), ":");
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) { return Value(Quoted(value)); }

JsonWriter& JsonWriter::Number(double value) { return Value(absl::StrFormat("%.17g", value)); }

JsonWriter& JsonWriter::Whole(int64_t value) { return Value(absl::StrCat(value)); }

JsonWriter& JsonWriter::Bool(bool value) { return Value(value ? "true" : "false"); }

}  // namespace sextant
