#include "client/calibration_file.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/proto_json.h"
#include "client/written_file.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {
namespace {

const v1::Calibration* CalibrationIn(const v1::Calibration& bare) { return &bare; }

template <typename Answer>
const v1::Calibration* CalibrationIn(const Answer& answer) {
  return answer.has_calibration() ? &answer.calibration() : nullptr;
}

// The calibration in `json`, which is a Message; absent where it is not, or holds none.
template <typename Message>
absl::optional<v1::Calibration> ReadAs(const std::string& json) {
  for (const bool newer : {false, true}) {
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = newer;
    Message message;
    if (!google::protobuf::util::JsonStringToMessage(json, &message, options).ok()) continue;
    const v1::Calibration* calibration = CalibrationIn(message);
    // Any object is a message of unknown fields: one that names no version is something else.
    if (calibration != nullptr && (!newer || calibration->schema_version() != 0)) {
      return *calibration;
    }
  }
  return {};
}

// Whether one JSON object follows another, as in a saved stream.
bool HoldsSeveralObjects(absl::string_view json) {
  int depth = 0;
  int object_count = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;  // and what it escapes
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

absl::StatusOr<v1::Calibration> ReadCalibration(const std::string& json) {
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

}  // namespace sextant
