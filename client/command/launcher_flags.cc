#include "client/command/launcher_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/flags/field_flag.h"
#include "client/flags/plan_flags.h"
#include "client/io/call.h"
#include "client/io/call_error.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "client/text/text.h"
#include "proto/words/config_text.h"
#include "proto/words/launchers.h"
#include "sextant/v1/accounting_service.grpc.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

using LaunchInput = GivenFields::LaunchInput;

constexpr char kGroup[] = "Launchers (docs/launchers.md)";
constexpr size_t kMaxLaunchFileBytes = size_t{256} << 10;  // LaunchFile.content
constexpr char kScriptTakes[] =
    "--script takes --emit=slurm, pytorchjob, trainjob or jobset, which start it";

bool StartsScript(absl::string_view launcher) {
  return absl::c_linear_search(
      std::vector<absl::string_view>(absl::StrSplit(words::kProcessLaunchers, '|')), launcher);
}

grpc::Status Usage(const std::string& message) { return RefusalStatus("USAGE", message); }

// The server's message, which names the flags that the launcher can't express; the status itself
// where it is about something else.
grpc::Status AsUsage(const grpc::Status& status) {
  if (status.ok()) return status;
  const CallError error = CallErrorOf(status);
  const bool unwritten = absl::c_any_of(error.field_violations, [](const auto& violation) {
    return absl::StrContains(violation.description, words::kCannotExpress);
  });
  return unwritten ? Usage(error.message) : status;
}

std::string NameOf(const LaunchInput& file) {
  return file.name == "-" ? "standard input" : file.name;
}

// Bytes that are no UTF-8 are those of comments, in a file that anything reads.
std::string Utf8Of(std::string text) {
  if (IsUtf8(text)) return text;
  for (char& c : text) {
    if (!absl::ascii_isascii(static_cast<unsigned char>(c))) c = '?';
  }
  return text;
}

grpc::Status ReadOne(const LaunchInput& file, std::istream& in, v1::LaunchFile* out) {
  out->set_name(NameOf(file));
  out->set_format(file.format);
  if (file.text.has_value()) {
    out->set_content(Utf8Of(*file.text));
    return grpc::Status::OK;
  }
  absl::StatusOr<std::string> text = ReadText(LaunchFilePath(file.name), in, kMaxConfigFileBytes);
  if (!text.ok()) return ReadRefusal(text.status());
  if (text->size() > kMaxLaunchFileBytes) *text = words::WithoutQuantization(*text);
  if (text->size() > kMaxLaunchFileBytes) {
    return ReadRefusal(TooLong(NameOf(file), kMaxLaunchFileBytes));
  }
  out->set_content(Utf8Of(*std::move(text)));
  return grpc::Status::OK;
}

// True where `name`, that of a file here, may be a model's: it says nothing of a file.
bool MayBeModel(const LaunchInput& file) {
  return file.format.empty() && !absl::StrContains(file.name, '/') && file.name != "-" &&
         !IsLaunchFileName(file.name);
}

bool IsModel(const ServerAddress& server, const std::string& name) {
  v1::ListModelsRequest request;
  request.set_pattern(name);
  v1::ListModelsResponse response;
  const auto method = &v1::AccountingService::Stub::ListModels;
  return Call(server, method, request, &response).ok() &&
         absl::c_any_of(response.models(), [&](const auto& model) { return model.name() == name; });
}

// "not modelled: --window-size, --spec"; "" without any. Of one of several files also its name.
std::string Names(const std::string& what, const std::string& of,
                  const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (names.empty()) return "";
  return absl::StrCat(what, of, ": ", OneLine(absl::StrJoin(names, ", ")), "\n");
}

// The layouts that may be written: those that a search found, the fastest first; none of a run that
// gives its own.
void AddLayouts(const v1::Plan& plan, v1::ExportRunRequest* out) {
  if (!plan.has_search()) return;
  const auto add = [out](const v1::LayoutOption& option) {
    v1::LaunchLayout* const layout = out->add_layouts();
    *layout->mutable_layout() = option.layout();
    layout->set_recompute(option.recompute());
  };
  add(plan.search().chosen());
  for (const v1::LayoutOption& option : plan.search().alternatives()) add(option);
}

double PredictedSeconds(const v1::Plan& plan) {
  for (const v1::TimeEstimate& estimate : plan.estimates()) {
    if (estimate.kind() == v1::ESTIMATE_KIND_PREDICTED) return estimate.elapsed_seconds().high();
  }
  return 0;
}

grpc::Status CallExportRun(const ServerAddress& server, const v1::ExportRunRequest& request,
                           v1::ExportRunResponse* response) {
  grpc::Status status =
      AsUsage(Call(server, &v1::PlanningService::Stub::ExportRun, request, response));
  if (!status.ok()) return status;
  const bool whole =
      request.check_only() || (response->files_size() > 0 && response->layout_index() >= 0 &&
                               response->layout_index() <= request.layouts_size());
  return whole ? status : Incomplete("file of the launcher");
}

// Plans the layout in `*request` in place of the fastest one, and says why.
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

void AddFileSource(const char* name, const char* help, const char* format, GivenFields* given,
                   CLI::App* command) {
  command
      ->add_option_function<std::string>(
          name,
          [given, format](const std::string& file) {
            given->AddLaunchFile({.name = file, .format = format});
          },
          help)
      ->check([](const std::string& file) { return file == "-" ? "" : CheckFile(file); })
      ->type_name("FILE")
      ->group(kGroup);
}

}  // namespace

void AddLauncherSources(GivenFields* given, CLI::App* command) {
  command
      ->add_option_function<std::string>(
          "--from-megatron",
          [given](const std::string& text) {
            given->AddLaunchFile({.name = "--from-megatron",
                                  .format = "list of Megatron-LM arguments",
                                  .text = text});
          },
          "the run of Megatron-LM's arguments, in one text")
      ->type_name("ARGUMENTS")
      ->group(kGroup);
  AddFileSource("--from-torchtitan", "the run of a torchtitan configuration in TOML; - is stdin",
                "torchtitan configuration", given, command);
  AddFileSource("--from-deepspeed", "the run of a DeepSpeed configuration in JSON; - is stdin",
                "DeepSpeed configuration", given, command);
}

grpc::Status ReadLaunchFiles(const std::vector<LaunchInput>& files, const ServerAddress& server,
                             std::istream& in, v1::ImportRunRequest* out) {
  for (const LaunchInput& file : files) {
    if (MayBeModel(file) && IsModel(server, file.name)) {
      return Usage(absl::StrCat("\"", file.name, "\" is both a model and a file here: write ./",
                                file.name, " for the file, or go elsewhere for the model"));
    }
    grpc::Status read = ReadOne(file, in, out->add_files());
    if (!read.ok()) return read;
  }
  return grpc::Status::OK;
}

grpc::Status CallImportRun(const ServerAddress& server, const v1::ImportRunRequest& request,
                           v1::ImportRunResponse* response) {
  ServerAddress sending = server;
  sending.prints_requests = false;
  grpc::Status status = Call(sending, &v1::PlanningService::Stub::ImportRun, request, response);
  if (status.ok() && response->files_size() != request.files_size()) {
    return Incomplete("account of each file");
  }
  if (status.ok()) return status;
  const CallError error = CallErrorOf(status);
  std::vector<std::string> faults;
  for (const CallError::Violation& violation : error.field_violations) {
    for (int i = 0; i < request.files_size(); ++i) {
      if (!absl::StartsWith(violation.subject, absl::StrCat("files[", i, "]"))) continue;
      faults.push_back(absl::StrCat(request.files(i).name(), " ", violation.description));
    }
  }
  if (faults.empty()) return status;
  return RefusalStatus("REQUEST_MALFORMED", absl::StrJoin(faults, "\n"));
}

std::string ImportNotes(const std::vector<LaunchInput>& files, const v1::ImportRunResponse& answer,
                        bool verbose) {
  std::string out;
  for (int i = 0; i < answer.files_size(); ++i) {
    const v1::ImportedFile& file = answer.files(i);
    const bool taken = files[static_cast<size_t>(i)].format.empty();
    const std::string of = answer.files_size() > 1 ? absl::StrCat(" in ", file.name()) : "";
    if (taken) {
      absl::StrAppend(&out, "took ", file.name(), " for ", words::WithArticle(file.format()), "\n");
    }
    const auto opens = [&file](const std::string& name) {
      return !absl::c_linear_search(file.time_alone(), name);
    };
    google::protobuf::RepeatedPtrField<std::string> opening;
    absl::c_copy_if(file.not_understood(), google::protobuf::RepeatedFieldBackInserter(&opening),
                    opens);
    absl::StrAppend(&out, Names("not modelled", of, opening),
                    Names("not modelled, of time alone", of, file.time_alone()),
                    Names("open", of, file.open()), Names("to be given too", of, file.wants()));
    if (verbose) absl::StrAppend(&out, Names("without meaning", of, file.without_meaning()));
  }
  for (const std::string& note : answer.notes()) {
    absl::StrAppend(&out, PlanDescriptionWords(note), "\n");
  }
  return Printable(out);
}

void AddEmission(Emission* emission, CLI::App* command) {
  AddChoices(command->add_option("--emit", emission->launcher,
                                 "write the layout for this launcher, instead of the plan"),
             words::kLaunchers)
      ->type_name("LAUNCHER")
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
  if (!emission.script.empty() && !StartsScript(emission.launcher)) {
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
  v1::ExportRunRequest question;
  *question.mutable_request() = *request;
  question.set_launcher(emission.launcher);
  question.set_check_only(true);
  v1::ExportRunResponse answer;
  grpc::Status status = CallExportRun(line.server, question, &answer);
  if (status.ok()) *request = std::move(*answer.mutable_request());
  return status;
}

std::vector<std::string> LaunchersOf(const ServerAddress& server, const v1::PlanRunRequest& run) {
  std::vector<std::string> out;
  for (const absl::string_view launcher : absl::StrSplit(words::kLaunchers, '|')) {
    v1::ExportRunRequest question;
    *question.mutable_request() = run;
    question.mutable_request()->mutable_layout()->mutable_framework()->clear_kind();
    question.set_launcher(std::string(launcher));
    question.set_check_only(true);
    v1::ExportRunResponse answer;
    if (!StartsScript(launcher) && CallExportRun(server, question, &answer).ok()) {
      out.emplace_back(launcher);
    }
  }
  return out;
}

grpc::Status Emit(const Emission& emission, const CommandLine& line, v1::PlanRunRequest* request,
                  v1::PlanRunResponse* response, EmittedFile* out) {
  v1::ExportRunRequest question;
  *question.mutable_request() = *request;
  question.set_launcher(emission.launcher);
  question.set_script(emission.script);
  question.set_elapsed_seconds(PredictedSeconds(response->plan()));
  AddLayouts(response->plan(), &question);
  v1::ExportRunResponse answer;
  grpc::Status status = CallExportRun(line.server, question, &answer);
  if (!status.ok() && question.layouts_size() > 1 && CallErrorOf(status).reason == "USAGE") {
    return Usage(absl::StrCat(CallErrorOf(status).message,
                              ". It cannot express the next best ones either: give more of the "
                              "layout, e.g. --recompute=none"));
  }
  if (!status.ok()) return status;
  if (answer.layout_index() > 0) {
    const std::string why = answer.refused_size() > 0 ? answer.refused(0) : "it is not expressed";
    status = PlanInstead(why, response->plan().search().chosen().step_seconds().expected(), line,
                         answer.mutable_request(), response, &out->instead);
    if (!status.ok()) return status;
    // The same layout, with the time that it was planned to take.
    *question.mutable_request() = answer.request();
    question.clear_layouts();
    question.set_elapsed_seconds(PredictedSeconds(response->plan()));
    status = CallExportRun(line.server, question, &answer);
    if (!status.ok()) return status;
  }
  *request = std::move(*answer.mutable_request());
  out->text = answer.files(0).content();
  out->left_out = {answer.left_out().begin(), answer.left_out().end()};
  return status;
}

std::string EmissionNotes(const EmittedFile& file) {
  std::string out = file.instead.empty() ? "" : absl::StrCat(OneLine(file.instead), "\n");
  if (!file.left_out.empty()) {
    absl::StrAppend(&out, "left to your script: ", absl::StrJoin(file.left_out, ", "), "\n");
  }
  return Printable(out);
}

}  // namespace sextant::client
