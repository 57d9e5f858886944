#include "client/plan_request.h"

#include <google/protobuf/util/json_util.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/calibration_file.h"
#include "client/call_error.h"
#include "client/field_path.h"
#include "client/read_refusal.h"
#include "client/text_file.h"

namespace sextant {
namespace {

using google::protobuf::FieldDescriptor;

grpc::Status Malformed(const std::string& file, const std::string& why) {
  return RefusalStatus("REQUEST_MALFORMED", absl::StrCat(file, ": ", why));
}

grpc::Status ReadRequest(const std::string& file, std::istream& in, v1::PlanRunRequest* request) {
  const absl::StatusOr<std::string> text = ReadText(file, in);
  if (!text.ok()) return ReadRefusal(text.status());
  const auto parsed = google::protobuf::util::JsonStringToMessage(*text, request);
  if (parsed.ok()) return grpc::Status::OK;
  return Malformed(file == "-" ? "standard input" : file,
                   absl::StrCat("not a PlanRunRequest in proto JSON: ", parsed.ToString()));
}

// The text for `field`: `given` itself, or the content of the file that it names.
absl::StatusOr<std::string> TextFor(const FieldDescriptor& field, const std::string& given,
                                    std::istream& in) {
  const FieldForm form = FormOf(field);
  if (!IsFile(form)) return given;
  return ReadText(given, in, form == FieldForm::kTextFile ? kMaxConfigBytes : kMaxRequestBytes);
}

grpc::Status AddCalibration(const std::string& file, const std::string& json,
                            v1::PlanRunRequest* request) {
  absl::StatusOr<v1::Calibration> calibration = ReadCalibration(json);
  if (!calibration.ok()) return Malformed(file, std::string(calibration.status().message()));
  *request->mutable_cluster()->add_calibrations() = *std::move(calibration);
  return grpc::Status::OK;
}

// Sent as it is, an empty text would read as none at all, and one that is not UTF-8 would be lost
// with the whole request.
grpc::Status CheckTextFile(const GivenFlag& given, const std::string& text) {
  const absl::string_view names = given.flag->names;
  const std::string where = absl::StrCat(names.substr(names.rfind(',') + 1), "=", given.text);
  if (absl::StripAsciiWhitespace(text).empty()) {
    return Malformed(where, "the file holds no text: give one that does");
  }
  if (!IsUtf8(text)) return Malformed(where, "the file's text is not UTF-8: save it as UTF-8");
  return grpc::Status::OK;
}

grpc::Status Apply(const GivenFlag& given, std::istream& in, v1::PlanRunRequest* request) {
  const FieldDescriptor& field = *FindField(*request->GetDescriptor(), given.flag->field);
  const absl::StatusOr<std::string> text = TextFor(field, given.text, in);
  if (!text.ok()) return ReadRefusal(text.status());
  if (field.message_type() == v1::Calibration::descriptor()) {
    return AddCalibration(given.text, *text, request);
  }
  if (FormOf(field) == FieldForm::kTextFile) {
    grpc::Status checked = CheckTextFile(given, *text);
    if (!checked.ok()) return checked;
  }
  const absl::Status set = SetField(given.flag->field, *text, request);
  if (set.ok()) return grpc::Status::OK;
  return Malformed(IsFile(FormOf(field)) ? given.text : given.flag->names,
                   std::string(set.message()));
}

bool NamesDevices(absl::string_view field) {
  return field == "cluster.accelerator" || field == "cluster.device_uuids" ||
         field == "cluster.calibrations";
}

// The ways to give a model exclude each other, and so do those to name devices: beside the
// file's own way, a flag would make two.
void ClearWhatFlagsReplace(const std::vector<GivenFlag>& flags, v1::PlanRunRequest* request) {
  for (const GivenFlag& given : flags) {
    if (absl::StartsWith(given.flag->field, "model.")) request->clear_model();
    if (NamesDevices(given.flag->field)) {
      request->mutable_cluster()->clear_accelerator();
      request->mutable_cluster()->clear_device_uuids();
      request->mutable_cluster()->clear_calibrations();
    }
  }
}

}  // namespace

grpc::Status BuildPlanRequest(const CommandLine& line, std::istream& in,
                              v1::PlanRunRequest* request) {
  if (!line.request_file.empty()) {
    grpc::Status read = ReadRequest(line.request_file, in, request);
    if (!read.ok()) return read;
  }
  ClearWhatFlagsReplace(line.plan_flags, request);
  for (const GivenFlag& given : line.plan_flags) {
    grpc::Status applied = Apply(given, in, request);
    if (!applied.ok()) return applied;
  }
  return grpc::Status::OK;
}

}  // namespace sextant
