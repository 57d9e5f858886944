#include "client/io/message_file.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/io/call_error.h"
#include "client/io/text_file.h"
#include "proto/calibration_json.h"
#include "proto/words/config_text.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::client {
namespace {

const v1::Calibration* CalibrationIn(const v1::Calibration& bare) { return &bare; }

template <typename Answer>
const v1::Calibration* CalibrationIn(const Answer& answer) {
  return answer.has_calibration() ? &answer.calibration() : nullptr;
}

// Reads the calibration in `json`, a Message; absent where `json` is not one, or holds none.
template <typename Message>
absl::optional<v1::Calibration> ReadAs(const std::string& json) {
  for (const bool newer : {false, true}) {
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = newer;
    Message message;
    if (!google::protobuf::util::JsonStringToMessage(json, &message, options).ok()) continue;
    const v1::Calibration* calibration = CalibrationIn(message);
    // Any object is a message of unknown fields: one without a version is something else.
    if (calibration != nullptr && (!newer || calibration->schema_version() != 0)) {
      return *calibration;
    }
  }
  return {};
}

// True where one JSON object follows another, as in a saved stream.
bool HoldsSeveralObjects(absl::string_view json) {
  int depth = 0;
  int object_count = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;  // and the character that it escapes
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{') {
      if (depth++ == 0) ++object_count;
    } else if (c == '}') {
      --depth;
    }
  }
  return object_count > 1;
}

absl::Status NoCalibration(const std::string& json) {
  if (HoldsSeveralObjects(json)) {
    return absl::InvalidArgumentError(
        "holds several JSON objects: give each calibration a file of its own, as sextant-probe "
        "--output=FILE and sextant calibration --save=FILE write it");
  }
  v1::Calibration unused;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &unused);
  return absl::InvalidArgumentError(
      absl::StrCat("not a sextant.v1.Calibration in proto JSON: ", parsed.ToString()));
}

}  // namespace

std::string ProtoJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = false;
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(message, &json, options);
  return printed.ok() ? json : "";
}

grpc::Status ReadRefusal(const absl::Status& status) {
  const bool too_large = status.code() == absl::StatusCode::kOutOfRange;
  return RefusalStatus(too_large ? "REQUEST_TOO_LARGE" : "REQUEST_MALFORMED",
                       std::string(status.message()));
}

grpc::Status ReadMessage(const std::string& file, std::istream& in,
                         google::protobuf::Message* message, google::protobuf::Message* part) {
  const absl::StatusOr<std::string> text = ReadText(file, in);
  if (!text.ok()) return ReadRefusal(text.status());
  if (part != nullptr && google::protobuf::util::JsonStringToMessage(*text, part).ok()) {
    return grpc::Status::OK;
  }
  const auto parsed = google::protobuf::util::JsonStringToMessage(*text, message);
  if (parsed.ok()) return grpc::Status::OK;
  const std::string& type = message->GetDescriptor()->name();
  return RefusalStatus("REQUEST_MALFORMED",
                       absl::StrCat(file == "-" ? "standard input" : file, ": not a",
                                    absl::StartsWith(type, "A") ? "n " : " ", type,
                                    " in proto JSON: ", parsed.ToString()));
}

// Checked here because an empty text, once sent, would read as no text, and one that is not UTF-8
// would be lost with the whole request.
grpc::Status ReadConfig(const std::string& file, const std::string& where, std::istream& in,
                        std::string* text) {
  absl::StatusOr<std::string> read = ReadText(ConfigFileAt(file), in, kMaxConfigFileBytes);
  if (!read.ok()) return ReadRefusal(read.status());
  if (read->size() > kMaxConfigBytes) *read = words::WithoutQuantization(*read);
  if (read->size() > kMaxConfigBytes) {
    return ReadRefusal(TooLong(file == "-" ? "standard input" : file, kMaxConfigBytes));
  }
  if (absl::StripAsciiWhitespace(*read).empty()) {
    return RefusalStatus("REQUEST_MALFORMED",
                         absl::StrCat(where, ": the file holds no text: give one that does"));
  }
  if (!IsUtf8(*read)) {
    return RefusalStatus("REQUEST_MALFORMED",
                         absl::StrCat(where, ": the file's text is not UTF-8: save it as UTF-8"));
  }
  *text = *read;
  return grpc::Status::OK;
}

grpc::Status ReadCalibrationFile(const std::string& file, std::istream& in, v1::Calibration* out) {
  const absl::StatusOr<std::string> text = ReadText(file, in);
  if (!text.ok()) return ReadRefusal(text.status());
  const absl::StatusOr<v1::Calibration> calibration = ReadCalibration(*text);
  if (!calibration.ok()) {
    return RefusalStatus("REQUEST_MALFORMED",
                         absl::StrCat(file, ": ", calibration.status().message()));
  }
  *out = *calibration;
  return grpc::Status::OK;
}

absl::StatusOr<v1::Calibration> ReadCalibration(const std::string& text) {
  const std::string json = WithPresentNames(text);
  for (const auto& read : {ReadAs<v1::Calibration>, ReadAs<v1::GetCalibrationResponse>,
                           ReadAs<v1::RunProbeResponse::Result>}) {
    if (const absl::optional<v1::Calibration> calibration = read(json); calibration.has_value()) {
      return *calibration;
    }
  }
  return NoCalibration(json);
}

absl::Status SaveCalibration(const std::string& file, const v1::Calibration& calibration) {
  return WriteText(file, ProtoJson(calibration));
}

}  // namespace sextant::client
