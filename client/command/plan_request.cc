#include "client/command/plan_request.h"

#include <google/protobuf/util/time_util.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "client/io/call_error.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"

namespace sextant::client {
namespace {

using google::protobuf::FieldDescriptor;

constexpr absl::string_view kPreset = "model.preset";
constexpr absl::string_view kConfig = "model.hugging_face_config";

const FieldDescriptor& FieldOf(const FieldFlag& flag) {
  return *FindField(*v1::PlanRunRequest::descriptor(), flag.field);
}

// Reads a flag's file into its field.
grpc::Status ReadFile(const PlanRequestFlags::File& file, std::istream& in,
                      v1::PlanRunRequest* request) {
  const FieldDescriptor& field = FieldOf(*file.flag);
  if (field.message_type() == v1::Calibration::descriptor()) {
    v1::DeviceSelector* device = request->mutable_cluster()->mutable_device();
    return ReadCalibrationFile(file.name, in, device->mutable_calibrations()->add_calibrations());
  }
  std::string text;
  if (FormOf(field) == FieldForm::kTextFile) {
    const std::string where = absl::StrCat(WordOf(*file.flag), "=", file.name);
    grpc::Status read = ReadConfig(file.name, where, in, &text);
    if (!read.ok()) return read;
  } else {
    absl::StatusOr<std::string> read = ReadText(file.name, in);
    if (!read.ok()) return ReadRefusal(read.status());
    text = *std::move(read);
  }
  const absl::Status set = SetField(file.flag->field, text, request);
  if (set.ok()) return grpc::Status::OK;
  return RefusalStatus("REQUEST_MALFORMED", absl::StrCat(file.name, ": ", set.message()));
}

// True where `field` names the model. Changes to a model may be given in addition to its name.
bool NamesModel(absl::string_view field) {
  return absl::StartsWith(field, "model.") && !absl::StartsWith(field, "model.changes.");
}

// The way in which a field names devices, of which a request has one; empty where it names none.
absl::string_view WayToDevices(absl::string_view field) {
  constexpr absl::string_view kFleet = "cluster.device.fleet";
  if (absl::StartsWith(field, kFleet)) return kFleet;
  return absl::StartsWith(field, "cluster.device.") ? field : "";
}

// Refuses devices that flags name in two ways: the request would keep the last one in silence.
grpc::Status CheckWays(const PlanRequestFlags& flags) {
  std::set<std::string> ways;
  const auto add = [&ways](absl::string_view field) {
    const absl::string_view way = WayToDevices(field);
    if (!way.empty()) ways.emplace(way);
  };
  for (const std::string& field : flags.given.paths()) add(field);
  for (const PlanRequestFlags::File& file : flags.files) add(file.flag->field);
  if (ways.size() < 2) return grpc::Status::OK;
  return RefusalStatus("USAGE",
                       "--accelerator, --device, --calibration and --fleet each name the devices: "
                       "give one of them");
}

// Clears the file's model, or devices, where a flag gives another: the ways to give a model exclude
// each other, and so do those to name devices.
void ClearOtherWays(absl::string_view field, v1::PlanRunRequest* request) {
  if (NamesModel(field)) request->clear_model();
  if (!WayToDevices(field).empty()) request->mutable_cluster()->clear_device();
}

// Replaces the file's fields by those of flags. A list given by flags replaces the file's list.
void Override(const PlanRequestFlags& flags, v1::PlanRunRequest* request) {
  for (const std::string& field : flags.given.paths()) ClearOtherWays(field, request);
  for (const PlanRequestFlags::File& file : flags.files) {
    ClearOtherWays(file.flag->field, request);
  }
  SetFields(flags.given, flags.request, request);
}

// Sets the number of devices that `data_parallel_size`, where it is given, and the layout's sizes
// make; refuses a run that has another.
grpc::Status CompleteDevices(int64_t data_parallel_size, v1::PlanRunRequest* request) {
  if (data_parallel_size == 0) return grpc::Status::OK;
  const v1::RunLayout& layout = request->layout();
  const int64_t sizes[] = {layout.parallel().tensor_parallel_size(),
                           layout.parallel().pipeline_parallel_size(),
                           layout.context_parallel_size()};
  int64_t devices = data_parallel_size;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(devices, std::max<int64_t>(size, 1), &devices)) devices = INT64_MAX;
  }
  const int64_t given = request->cluster().device_count();
  if (given != 0 && given != devices) {
    return RefusalStatus(
        "USAGE",
        absl::StrCat("--dp=", data_parallel_size, " makes --tp x --cp x --pp x --dp = ", devices,
                     " devices, and --devices is ", given, ": leave one of them out"));
  }
  request->mutable_cluster()->set_device_count(devices);
  return grpc::Status::OK;
}

// True where a flag gives the model, which then replaces a launcher's.
bool GivesModel(const PlanRequestFlags& flags) {
  return absl::c_any_of(flags.given.paths(), NamesModel) ||
         absl::c_any_of(flags.files, [](const PlanRequestFlags::File& file) {
           return NamesModel(file.flag->field);
         });
}

// Adds MODEL: the name of a model, or the file of a config.json.
void AddModelFlag(const FieldFlag& flag, PlanRequestFlags* flags, CLI::App* command) {
  const absl::Span<const FieldFlag> flags_of_plan = PlanFlags();
  const FieldFlag& config = *absl::c_find_if(
      flags_of_plan, [](const FieldFlag& other) { return other.field == kConfig; });
  const auto give = [&flag, &config, flags](const std::string& model) -> absl::Status {
    // The last of several counts, whether those before it were names or files.
    auto& paths = *flags->given.mutable_paths();
    paths.erase(std::remove(paths.begin(), paths.end(), flag.field), paths.end());
    flags->files.erase(
        std::remove_if(flags->files.begin(), flags->files.end(),
                       [&config](const PlanRequestFlags::File& f) { return f.flag == &config; }),
        flags->files.end());
    if (IsConfigFile(model)) {
      const std::string wrong = CheckModel(model);
      if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
      flags->files.push_back({&config, model});
      return absl::OkStatus();
    }
    flags->given.add_paths(flag.field);
    return SetField(flag.field, model, &flags->request);
  };
  AddText(flag.names, flag.help, give, command)->group(flag.group)->type_name("MODEL");
}

// Adds the flag of one field.
void AddPlanFlag(const FieldFlag& flag, PlanRequestFlags* flags, CLI::App* command) {
  if (flag.field == kPreset) return AddModelFlag(flag, flags, command);
  const FieldDescriptor& field = FieldOf(flag);
  if (!IsFile(FormOf(field))) {
    AddFieldFlag(flag, &flags->request, command, &flags->given);
    return;
  }
  const auto give = [&flag, flags](const std::string& name) {
    flags->files.push_back({&flag, name});
  };
  CLI::Option* option = command->add_option_function<std::string>(flag.names, give, flag.help)
                            ->group(flag.group)
                            ->check(CheckFile)
                            ->trigger_on_parse(field.is_repeated());  // each time that it is given
  ShowValues(flag.names, ValueName(field), option);
}

}  // namespace

void ShowAll(v1::PlanRunRequest* request) {
  v1::PlanOptions& options = *request->mutable_options();
  if (options.view() == v1::PLAN_VIEW_UNSPECIFIED) options.set_view(v1::PLAN_VIEW_FULL);
}

void StartNow(absl::Time now, v1::PlanRunRequest* request) {
  if (request->has_economics()) StartNow(now, request->mutable_economics());
}

void StartNow(absl::Time now, v1::EconomicsSpec* economics) {
  if (!economics->has_deadline() || economics->has_start_time()) return;
  *economics->mutable_start_time() =
      google::protobuf::util::TimeUtil::SecondsToTimestamp(absl::ToUnixSeconds(now));
}

void AddRequestFile(PlanRequestFlags* flags, CLI::App* command) {
  command
      ->add_option("--request", flags->request_file, "a PlanRunRequest in proto JSON; - is stdin")
      ->type_name("FILE")
      ->check(CheckFileOrInput);
  AddLauncherSource(&flags->launcher, command);
  AddText(
      "--dp", "data parallel ranks, which --devices follows from",
      [flags](const std::string& text) -> absl::Status {
        const absl::StatusOr<int64_t> size = ParseLength(text);
        if (!size.ok()) return size.status();
        if (*size < 1) return absl::InvalidArgumentError("write a number of at least 1");
        flags->data_parallel_size = *size;
        return absl::OkStatus();
      },
      command)
      ->type_name("COUNT")
      ->group(kRunLayoutGroup);
}

void AddPlanFlags(PlanRequestFlags* flags, CLI::App* command) {
  for (const FieldFlag& flag : PlanFlags()) AddPlanFlag(flag, flags, command);
}

bool SuitsManyRuns(const FieldFlag& flag) {
  const absl::string_view field = flag.field;
  return field != "options.view" && !absl::StartsWith(field, "options.include_");
}

void ClearOptionsOfOne(const google::protobuf::FieldMask& given, v1::PlanOptions* options) {
  const auto* const reflection = v1::PlanOptions::GetReflection();
  for (const FieldFlag& flag : PlanFlags()) {
    if (SuitsManyRuns(flag) || absl::c_linear_search(given.paths(), flag.field)) continue;
    reflection->ClearField(options, FindField(*v1::PlanRunRequest::descriptor(), flag.field));
  }
}

grpc::Status BuildPlanRequest(const PlanRequestFlags& flags, const Streams& streams,
                              v1::PlanRunRequest* request) {
  grpc::Status ways = CheckWays(flags);
  if (!ways.ok()) return ways;
  if (!flags.request_file.empty()) {
    grpc::Status read = ReadMessage(flags.request_file, streams.in, request);
    if (!read.ok()) return read;
  }
  LauncherRead launched;
  grpc::Status read = ReadLauncherSource(flags.launcher, !GivesModel(flags), streams.in, &launched);
  if (!read.ok()) return read;
  Merge(launched, request);
  Override(flags, request);
  for (const PlanRequestFlags::File& file : flags.files) {
    read = ReadFile(file, streams.in, request);
    if (!read.ok()) return read;
  }
  Complete(launched, request);
  OpenVerdict(launched, flags.given, request);
  read = CompleteDevices(flags.data_parallel_size, request);
  if (!read.ok()) return read;
  streams.err << LauncherNotes(launched);
  if (absl::c_linear_search(flags.given.paths(), "model.changes.adapters.rank")) {
    AddDefaultTargets(request->mutable_model()->mutable_changes());
  }
  return grpc::Status::OK;
}

}  // namespace sextant::client
