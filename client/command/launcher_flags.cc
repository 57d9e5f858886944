#include "client/command/launcher_flags.h"

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/flags/field_flag.h"
#include "client/io/call.h"
#include "client/io/call_error.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "client/text/text.h"
#include "server/launcher/launcher.h"
#include "sextant/v1/accounting_service.grpc.pb.h"
#include "sextant/v1/hardware_service.grpc.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kGroup[] = "Launchers (docs/launchers.md)";
constexpr char kScriptTakes[] =
    "--script takes --emit=slurm, pytorchjob, trainjob or jobset, which start it";

grpc::Status Usage(const std::string& message) { return RefusalStatus("USAGE", message); }

// Takes what was read of `where`, or its error.
grpc::Status Take(const std::string& where, absl::StatusOr<LauncherRead> read, LauncherRead* out) {
  if (!read.ok()) {
    return RefusalStatus("REQUEST_MALFORMED", absl::StrCat(where, ": ", read.status().message()));
  }
  *out = *std::move(read);
  return grpc::Status::OK;
}

grpc::Status ReadSourceFile(const LauncherSource& source, bool with_model, std::istream& in,
                            LauncherRead* out) {
  const bool toml = !source.torchtitan_file.empty();
  const std::string& name = toml ? source.torchtitan_file : source.deepspeed_file;
  const absl::StatusOr<std::string> text = ReadText(name, in);
  if (!text.ok()) return ReadRefusal(text.status());
  const std::string where = name == "-" ? "standard input" : name;
  return Take(where, toml ? ReadTorchtitan(*text, with_model) : ReadDeepspeed(*text), out);
}

// The kind of server that a plan without a node_type is of: the first of the product.
bool IsNode(const v1::NodeType& type, const std::string& name, const std::string& device) {
  if (!name.empty()) return absl::EqualsIgnoreCase(type.name(), name);
  return absl::c_linear_search(type.accelerators(), device);
}

grpc::Status AskForNode(const v1::Plan& plan, const CommandLine& line, LaunchedRun* run) {
  v1::ListNodeTypesResponse nodes;
  grpc::Status status = Call(line.server, &v1::HardwareService::Stub::ListNodeTypes,
                             v1::ListNodeTypesRequest(), &nodes);
  if (!status.ok()) return status;
  for (const v1::NodeType& type : nodes.node_types()) {
    if (!IsNode(type, run->request.cluster().node_type(), plan.device())) continue;
    run->devices_per_node = type.device_count();
    break;
  }
  return grpc::Status::OK;
}

grpc::Status AskForShape(const CommandLine& line, LaunchedRun* run) {
  v1::CountModelRequest request;
  *request.mutable_model() = run->request.model();
  request.mutable_model()->clear_changes();
  request.set_include_architecture(true);
  v1::CountModelResponse response;
  grpc::Status status =
      Call(line.server, &v1::AccountingService::Stub::CountModel, request, &response);
  if (status.ok() && !response.has_architecture()) return Incomplete("architecture of the model");
  run->model = response.architecture();
  return status;
}

// The layouts that may be written: those that a search found, the fastest first, or the request's.
std::vector<v1::LayoutOption> LayoutsOf(const v1::PlanRunRequest& request, const v1::Plan& plan) {
  if (plan.has_search()) {
    std::vector<v1::LayoutOption> out = {plan.search().chosen()};
    out.insert(out.end(), plan.search().alternatives().begin(), plan.search().alternatives().end());
    return out;
  }
  v1::LayoutOption given;
  *given.mutable_layout() = request.layout();
  given.set_recompute(request.training().recompute());
  return {given};
}

void Put(const v1::LayoutOption& option, v1::PlanRunRequest* request) {
  *request->mutable_layout() = option.layout();
  request->mutable_training()->set_recompute(option.recompute());
}

// Plans the layout in `request` in place of the fastest one, and says why.
grpc::Status PlanInstead(const std::string& why, double fastest_seconds, const CommandLine& line,
                         v1::PlanRunRequest* request, v1::PlanRunResponse* response,
                         std::string* instead) {
  request->mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  v1::PlanRunResponse answer;
  grpc::Status status = Call(line.server, &v1::PlanningService::Stub::PlanRun, *request, &answer);
  if (!status.ok()) return status;
  *response = std::move(answer);
  *instead = absl::StrCat("not the fastest layout (a step of ", ShortTime(fastest_seconds),
                          "): ", why, "; the next that it can express is planned: a step of ",
                          ShortTime(response->plan().step_time().seconds().expected()));
  return status;
}

double PredictedSeconds(const v1::Plan& plan) {
  for (const v1::TimeEstimate& estimate : plan.estimates()) {
    if (estimate.kind() == v1::ESTIMATE_KIND_PREDICTED) return estimate.elapsed_seconds().high();
  }
  return 0;
}

}  // namespace

void AddLauncherSource(LauncherSource* source, CLI::App* command) {
  command
      ->add_option_function<std::string>(
          "--from-megatron", [source](const std::string& text) { source->megatron = text; },
          "the run of Megatron-LM's arguments, in one text")
      ->type_name("ARGUMENTS")
      ->group(kGroup);
  AddInput("--from-torchtitan", &source->torchtitan_file,
           "the run of a torchtitan configuration in TOML; - is stdin", command)
      ->group(kGroup);
  AddInput("--from-deepspeed", &source->deepspeed_file,
           "the run of a DeepSpeed configuration in JSON; - is stdin", command)
      ->group(kGroup);
}

grpc::Status ReadLauncherSource(const LauncherSource& source, bool with_model, std::istream& in,
                                LauncherRead* out) {
  const int given = (source.megatron.has_value() ? 1 : 0) +
                    (source.torchtitan_file.empty() ? 0 : 1) +
                    (source.deepspeed_file.empty() ? 0 : 1);
  if (given > 1) {
    return Usage(
        "--from-megatron, --from-torchtitan and --from-deepspeed each give the run: give one of "
        "them");
  }
  if (source.megatron.has_value()) {
    return Take("--from-megatron", ReadMegatron(*source.megatron, with_model), out);
  }
  return given == 0 ? grpc::Status::OK : ReadSourceFile(source, with_model, in, out);
}

std::string LauncherNotes(const LauncherRead& read) {
  std::string out;
  if (!read.ignored.empty()) {
    absl::StrAppend(&out, "ignored: ", OneLine(absl::StrJoin(read.ignored, ", ")), "\n");
  }
  if (!read.open.empty()) {
    absl::StrAppend(&out, "open: ", OneLine(absl::StrJoin(read.open, ", ")), "\n");
  }
  return Printable(out);
}

void AddEmission(Emission* emission, CLI::App* command) {
  AddChoices(command->add_option("--emit", emission->launcher,
                                 "write the layout for this launcher, instead of the plan"),
             kLaunchers)
      ->group(kGroup);
  AddFile("--emit-to", &emission->file, "write that into this file, besides the plan", command)
      ->group(kGroup);
  AddFile("--script", &emission->script, "of slurm and Kubernetes: the training script", command)
      ->group(kGroup);
}

grpc::Status PrepareEmission(const Emission& emission, const CommandLine& line,
                             v1::PlanRunRequest* request) {
  if (!emission.wanted()) {
    if (!emission.file.empty()) return Usage("--emit-to takes --emit, which says what to write");
    return emission.script.empty() ? grpc::Status::OK : Usage(kScriptTakes);
  }
  if (line.server.prints_requests) {
    return Usage(
        "--print-request prints one request, and --emit sends more, which depend on the plan: "
        "leave out --emit to print the plan's");
  }
  if (!emission.script.empty() && !StartsProcesses(emission.launcher)) {
    return Usage(kScriptTakes);
  }
  if (line.json() && emission.file.empty()) {
    return Usage("--emit writes no JSON: give --emit-to=FILE with --output=json");
  }
  if (request->model().has_parameter_count()) {
    return Usage("--emit takes a model with a shape: give a preset or --config, not --parameters");
  }
  if (!request->has_layout()) {
    return Usage(
        "--emit writes a layout, and there is none: give one, such as --tp and --gbs, or "
        "--gbs alone to search for it");
  }
  v1::FrameworkMemory* framework = request->mutable_layout()->mutable_framework();
  if (framework->kind() == v1::FrameworkMemory::KIND_UNSPECIFIED) {
    framework->set_kind(FrameworkOf(emission.launcher));
  }
  const absl::Status checked = CheckLauncher(emission.launcher, *request);
  return checked.ok() ? grpc::Status::OK : Usage(std::string(checked.message()));
}

grpc::Status Emit(const Emission& emission, const CommandLine& line, v1::PlanRunRequest* request,
                  v1::PlanRunResponse* response, LauncherFile* out) {
  LaunchedRun run = {
      .request = *request, .model_name = response->plan().model_name(), .script = emission.script};
  grpc::Status status = AskForShape(line, &run);
  if (status.ok() && StartsProcesses(emission.launcher)) {
    status = AskForNode(response->plan(), line, &run);
  }
  if (!status.ok()) return status;
  const std::vector<v1::LayoutOption> layouts = LayoutsOf(*request, response->plan());
  absl::Status refusal;  // of the fastest
  const auto chosen = absl::c_find_if(layouts, [&](const v1::LayoutOption& option) {
    Put(option, &run.request);
    const absl::Status written = WriteLauncher(emission.launcher, run).status();
    if (refusal.ok()) refusal = written;
    return written.ok();
  });
  if (chosen == layouts.end()) {
    return Usage(absl::StrCat(refusal.message(),
                              layouts.size() > 1 ? ". It cannot express the next best ones either: "
                                                   "give more of the layout, e.g. --recompute=none"
                                                 : ""));
  }
  std::string instead;
  if (chosen != layouts.begin()) {
    status = PlanInstead(std::string(refusal.message()), layouts.front().step_seconds().expected(),
                         line, &run.request, response, &instead);
    if (!status.ok()) return status;
  }
  *request = run.request;
  run.elapsed_seconds = PredictedSeconds(response->plan());
  absl::StatusOr<LauncherFile> file = WriteLauncher(emission.launcher, run);
  if (!file.ok()) return Usage(std::string(file.status().message()));
  *out = *std::move(file);
  out->instead = instead;
  return grpc::Status::OK;
}

std::string EmissionNotes(const LauncherFile& file) {
  std::string out = file.instead.empty() ? "" : absl::StrCat(OneLine(file.instead), "\n");
  if (!file.left_out.empty()) {
    absl::StrAppend(&out, "left to your script: ", absl::StrJoin(file.left_out, ", "), "\n");
  }
  return Printable(out);
}

}  // namespace sextant::client
