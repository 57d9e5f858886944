#include "client/plan_request.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/adapter_targets.h"
#include "client/calibration_file.h"
#include "client/call_error.h"
#include "client/config_file.h"
#include "client/field_path.h"
#include "client/message_file.h"
#include "client/read_refusal.h"
#include "client/text_file.h"

namespace sextant {
namespace {

using google::protobuf::FieldDescriptor;

grpc::Status Malformed(const std::string& file, const std::string& why) {
  return RefusalStatus("REQUEST_MALFORMED", absl::StrCat(file, ": ", why));
}

grpc::Status AddCalibration(const std::string& file, const std::string& json,
                            v1::PlanRunRequest* request) {
  absl::StatusOr<v1::Calibration> calibration = ReadCalibration(json);
  if (!calibration.ok()) return Malformed(file, std::string(calibration.status().message()));
  *request->mutable_cluster()->add_calibrations() = *std::move(calibration);
  return grpc::Status::OK;
}

// The last one of a flag's names, as it was written with its value.
std::string Written(const GivenFlag& given) {
  const absl::string_view names = given.flag->names;
  return absl::StrCat(names.substr(names.rfind(',') + 1), "=", given.text);
}

grpc::Status Apply(const GivenFlag& given, std::istream& in, v1::PlanRunRequest* request) {
  const FieldDescriptor& field = *FindField(*request->GetDescriptor(), given.flag->field);
  const FieldForm form = FormOf(field);
  std::string text = given.text;
  if (form == FieldForm::kTextFile) {
    grpc::Status read = ReadConfig(given.text, Written(given), in, &text);
    if (!read.ok()) return read;
  } else if (form == FieldForm::kMessage) {
    absl::StatusOr<std::string> read = ReadText(given.text, in);
    if (!read.ok()) return ReadRefusal(read.status());
    text = *std::move(read);
  }
  if (field.message_type() == v1::Calibration::descriptor()) {
    return AddCalibration(given.text, text, request);
  }
  const absl::Status set = SetField(given.flag->field, text, request);
  if (set.ok()) return grpc::Status::OK;
  return Malformed(IsFile(form) ? given.text : given.flag->names, std::string(set.message()));
}

bool NamesDevices(absl::string_view field) {
  return field == "cluster.accelerator" || field == "cluster.device_uuids" ||
         field == "cluster.calibrations";
}

// What is done to a model is said beside the way that names it.
bool NamesModel(absl::string_view field) {
  return absl::StartsWith(field, "model.") && !absl::StartsWith(field, "model.changes.");
}

// The ways to give a model exclude each other, and so do those to name devices: beside the
// file's own way, a flag would make two. A list that flags give replaces the file's.
void ClearWhatFlagsReplace(const std::vector<GivenFlag>& flags, v1::PlanRunRequest* request) {
  for (const GivenFlag& given : flags) {
    const absl::string_view field = given.flag->field;
    if (NamesModel(field)) request->clear_model();
    if (NamesDevices(field)) {
      request->mutable_cluster()->clear_accelerator();
      request->mutable_cluster()->clear_device_uuids();
      request->mutable_cluster()->clear_calibrations();
    }
    if (field == "model.changes.adapters.targets") {
      request->mutable_model()->mutable_changes()->mutable_adapters()->clear_targets();
    }
    if (field == "layout.parallel.layers_per_chunk") {
      request->mutable_layout()->mutable_parallel()->clear_layers_per_chunk();
    }
    if (field == "model.changes.frozen_components") {
      request->mutable_model()->mutable_changes()->clear_frozen_components();
    }
  }
}

}  // namespace

grpc::Status BuildPlanRequest(const CommandLine& line, std::istream& in,
                              v1::PlanRunRequest* request) {
  if (!line.request_file.empty()) {
    grpc::Status read = ReadMessage(line.request_file, in, request);
    if (!read.ok()) return read;
  }
  ClearWhatFlagsReplace(line.plan_flags, request);
  for (const GivenFlag& given : line.plan_flags) {
    grpc::Status applied = Apply(given, in, request);
    if (!applied.ok()) return applied;
  }
  const bool gives_rank = absl::c_any_of(line.plan_flags, [](const GivenFlag& given) {
    return absl::string_view(given.flag->field) == "model.changes.adapters.rank";
  });
  if (gives_rank) AddDefaultTargets(request->mutable_model()->mutable_changes());
  return grpc::Status::OK;
}

}  // namespace sextant
