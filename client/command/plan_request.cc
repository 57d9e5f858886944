#include "client/command/plan_request.h"

#include <google/protobuf/util/field_mask_util.h>
#include <google/protobuf/util/time_util.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "client/io/call_error.h"
#include "proto/words/layout_sizes.h"
#include "sextant/v1/field_options.pb.h"

namespace sextant::client {
namespace {

// Sets the number of devices that `data_parallel_size`, where it is given, and the layout's sizes
// make; refuses a run that has another.
grpc::Status CompleteDevices(int64_t data_parallel_size, v1::PlanRunRequest* request) {
  if (data_parallel_size == 0) return grpc::Status::OK;
  const words::LayoutSizes sizes = words::SizesOf(request->layout());
  int64_t devices = data_parallel_size;
  for (const int64_t size : {sizes.tensor, sizes.pipeline, sizes.context}) {
    if (__builtin_mul_overflow(devices, size, &devices)) devices = INT64_MAX;
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

// Sets what flags give with a value that the wire leaves out, such as --freeze-base=false.
void OverrideDefaults(const PlanRequestFlags& flags, v1::PlanRunRequest* request) {
  google::protobuf::FieldMask mask;
  for (const std::string& path : flags.fields.paths()) {
    const bool whole = NamesModel(path) || absl::StartsWith(path, "cluster.device.");
    if (!whole) mask.add_paths(path);
  }
  google::protobuf::util::FieldMaskUtil::MergeOptions options;
  options.set_replace_message_fields(true);
  options.set_replace_repeated_fields(true);
  google::protobuf::util::FieldMaskUtil::MergeMessageTo(flags.request, mask, options, request);
}

// Puts what the files that start the run say under what `*request` gives.
grpc::Status ImportFiles(const PlanRequestFlags& flags, const ServerAddress& server,
                         const Streams& streams, v1::PlanRunRequest* request) {
  v1::ImportRunRequest question;
  v1::ImportRunResponse answer;
  grpc::Status status = ReadLaunchFiles(flags.launch_files, server, streams.in, &question);
  *question.mutable_request() = *request;
  if (status.ok()) status = CallImportRun(server, question, &answer);
  // The batch of all devices, and the like, follow from --dp too.
  if (status.ok() && flags.data_parallel_size != 0) {
    status = CompleteDevices(flags.data_parallel_size, answer.mutable_request());
    question.mutable_request()->mutable_cluster()->set_device_count(
        answer.request().cluster().device_count());
    if (status.ok()) status = CallImportRun(server, question, &answer);
  }
  const bool counts = flags.usual_devices != nullptr && answer.request().has_layout() &&
                      answer.request().cluster().device_count() == 0;
  if (status.ok() && counts) {
    v1::ClusterSpec& cluster = *question.mutable_request()->mutable_cluster();
    cluster.set_device_count(flags.usual_devices(answer.request().layout()));
    status = CallImportRun(server, question, &answer);
    answer.mutable_request()->mutable_cluster()->clear_device_count();
  }
  if (!status.ok()) return status;
  *request = std::move(*answer.mutable_request());
  OverrideDefaults(flags, request);
  streams.err << ImportNotes(flags.launch_files, answer, flags.verbose);
  return status;
}

}  // namespace

FailureWords WordsOfPlan(const v1::PlanRunRequest& request) {
  return {.field = PlanFieldWords,
          .description = PlanDescriptionWords,
          .hint = [&request](const CallError& error) {
            return DefaultTargetsHint(request.model().changes(), error);
          }};
}

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

void AddRunSources(PlanRequestFlags* flags, CommandLine* line, CLI::App* command) {
  flags->imports = &line->imports_files;
  AddRequestFile(v1::PlanRunRequest::default_instance(), flags, command);
  AddLauncherSources(flags, command);
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
      ->group(v1::RunLayout::descriptor()->options().GetExtension(v1::flag_group));
}

void AddRunFlags(PlanRequestFlags* flags, CLI::App* command) {
  AddFlags(PlanFlags(), flags, &flags->request, command);
}

bool SuitsManyRuns(const FieldFlag& flag) {
  const std::string& field = flag.field;
  return field != "options.view" && !absl::StartsWith(field, "options.include_");
}

void ClearOptionsOfOne(const google::protobuf::FieldMask& given, v1::PlanOptions* options) {
  const auto* const reflection = v1::PlanOptions::GetReflection();
  for (const FieldFlag& flag : PlanFlags()) {
    if (SuitsManyRuns(flag) || absl::c_linear_search(given.paths(), flag.field)) continue;
    reflection->ClearField(options, FindField(*v1::PlanRunRequest::descriptor(), flag.field));
  }
}

grpc::Status BuildPlanRequest(const PlanRequestFlags& flags, const ServerAddress& server,
                              const Streams& streams, v1::PlanRunRequest* request) {
  if (const std::string conflict = ConflictOfDevices(flags); !conflict.empty()) {
    return RefusalStatus("USAGE", conflict);
  }
  grpc::Status read = ReadRequestFile(flags, streams.in, request);
  if (read.ok()) read = Override(flags, flags.request, streams.in, request);
  if (read.ok() && !flags.launch_files.empty()) {
    read = ImportFiles(flags, server, streams, request);
  }
  if (read.ok()) read = CompleteDevices(flags.data_parallel_size, request);
  if (!read.ok()) return read;
  if (flags.Sets("model.changes.adapters.rank")) {
    AddDefaultTargets(request->mutable_model()->mutable_changes());
  }
  return grpc::Status::OK;
}

}  // namespace sextant::client
