// `sextant compare`: plans several runs that differ in given flags, side by side.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/command/command.h"
#include "client/command/open_layout.h"
#include "client/command/plan_request.h"
#include "client/command/run_client.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "client/io/message_file.h"
#include "client/report/memory_text.h"
#include "client/report/planned_run.h"
#include "client/report/whole_run_text.h"
#include "client/text/text.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kCompareHelp[] =
    "Flags are those of sextant plan, and hold for all runs. --each=FLAG=VALUE,VALUE... varies "
    "one:\n"
    "repeated, all combinations are planned, at most 256, the last flag's values changing "
    "fastest.\n"
    "Where the batch alone is given, each run gets the layout that a bounded search finds\n"
    "(docs/search.md). The exit code is that of the best run: 0 where one fits. Waits 120 s, "
    "unless\n"
    "--timeout says otherwise.\n"
    "\n"
    "Examples:\n"
    "  Which GPUs, and how many?\n"
    "    sextant compare llama-3.1-70b --tokens=15T --gbs=1024 --sequence-length=8192 \\\n"
    "        --framework=megatron-lm --network-bytes-per-second=50e9 --each=devices=256,512 \\\n"
    "        --each=accelerator=h100-sxm,h200-sxm\n"
    "  Which layout, by its sizes?\n"
    "    sextant compare llama-3.1-8b --tokens=1T --gbs=256 --sequence-length=8192 --devices=64 "
    "\\\n"
    "        --accelerator=h100-sxm --node-type=dgx-h100 --each=tp=1,2,4,8 --each=zero=1,3\n";

constexpr size_t kMaxRuns = 256;

// A flag and the values to plan with.
struct Axis {
  const FieldFlag* flag = nullptr;
  std::string name;
  std::vector<std::string> values;
};

struct CompareFlags {
  PlanRequestFlags plan;
  std::vector<Axis> axes;
};

// The flag that has `name` among its names, without dashes; null where none has.
const FieldFlag* FindFlag(absl::string_view name) {
  for (const FieldFlag& flag : PlanFlags()) {
    for (const absl::string_view each : absl::StrSplit(flag.names, ',')) {
      if (SuitsManyRuns(flag) && absl::StripPrefix(each, "--") == name) return &flag;
    }
  }
  return nullptr;
}

// Reads "tp=4,8".
absl::Status ReadAxis(const std::string& text, std::vector<Axis>* axes) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  const std::string name(absl::StripPrefix(parts.first, "--"));
  Axis axis = {.flag = FindFlag(name),
               .name = name,
               .values = absl::StrSplit(parts.second, ',', absl::SkipEmpty())};
  if (axis.flag == nullptr || axis.values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not a flag of sextant plan with values; write e.g. tp=4,8, ",
        "devices=256,512 or preset=llama-3.1-8b,llama-3.1-70b"));
  }
  for (const Axis& other : *axes) {
    if (other.flag != axis.flag) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " is given twice: write all its values in one --each"));
  }
  axes->push_back(std::move(axis));
  return absl::OkStatus();
}

// Sets the axis's field in `request` as its flag would.
grpc::Status Override(const Axis& axis, const std::string& value, const Streams& streams,
                      v1::PlanRunRequest* request) {
  PlanRequestFlags one;
  const auto& field = *FindField(*v1::PlanRunRequest::descriptor(), axis.flag->field);
  if (IsFile(FormOf(field))) {
    one.files.push_back({axis.flag, value});
  } else {
    const absl::Status set = SetField(axis.flag->field, value, &one.request);
    if (!set.ok()) {
      return RefusalStatus("USAGE",
                           absl::StrCat("--each=", axis.name, "=", value, ": ", set.message()));
    }
    one.fields.add_paths(axis.flag->field);
  }
  return BuildPlanRequest(one, ServerAddress(), streams, request);
}

grpc::Status CheckAxes(const std::vector<Axis>& axes) {
  if (axes.empty()) {
    return RefusalStatus("USAGE",
                         "--each=FLAG=VALUE,VALUE... is required: what the runs differ in");
  }
  size_t count = 1;
  for (const Axis& axis : axes) {
    count *= axis.values.size();
    if (count > kMaxRuns) {
      return RefusalStatus("USAGE", absl::StrCat("these values give more than ", kMaxRuns,
                                                 " runs: give fewer of them"));
    }
  }
  return grpc::Status::OK;
}

// Adds `run` with all values of the axes from `axis` on; `values` are those of the axes before.
grpc::Status AddRuns(const std::vector<Axis>& axes, const v1::PlanRunRequest& run,
                     const Streams& streams, const std::vector<std::string>& values,
                     v1::BatchPlanRunsRequest* batch, Comparison* comparison) {
  if (values.size() == axes.size()) {
    *batch->add_runs() = run;
    comparison->values.push_back(values);
    return grpc::Status::OK;
  }
  const Axis& axis = axes[values.size()];
  for (const std::string& value : axis.values) {
    v1::PlanRunRequest changed = run;
    grpc::Status status = Override(axis, value, streams, &changed);
    std::vector<std::string> longer = values;
    longer.push_back(value);
    if (status.ok()) status = AddRuns(axes, changed, streams, longer, batch, comparison);
    if (!status.ok()) return status;
  }
  return grpc::Status::OK;
}

grpc::Status BuildBatch(const CompareFlags& flags, const CommandLine& line, const Streams& streams,
                        v1::BatchPlanRunsRequest* batch, Comparison* comparison) {
  grpc::Status status = CheckAxes(flags.axes);
  if (!status.ok()) return status;
  v1::PlanRunRequest run;
  status = BuildPlanRequest(flags.plan, line.server, streams, &run);
  if (!status.ok()) return status;
  ClearOptionsOfOne(flags.plan.fields, run.mutable_options());
  StartNow(streams.now(), &run);
  for (const Axis& axis : flags.axes) comparison->flags.push_back(axis.name);
  return AddRuns(flags.axes, run, streams, {}, batch, comparison);
}

// The exit code of the best run; of a bad request where none could be planned.
int ExitCodeFor(const v1::BatchPlanRunsResponse& response) {
  const int best = BestRun(response);
  return best < 0 ? kExitBadRequest : *ExitCodeOfPlan(response.runs(best).plan());
}

int RunCompare(const CompareFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::BatchPlanRunsRequest request;
  Comparison comparison;
  v1::BatchPlanRunsResponse response;
  grpc::Status status = BuildBatch(flags, line, streams, &request, &comparison);
  if (status.ok()) status = AskForPlans(line.server, &request, &response);
  if (status.ok() && response.runs_size() != request.runs_size()) {
    status = Incomplete("plan for each run");
  }
  if (!status.ok()) return Fail(status, line, streams);
  streams.out << (line.json() ? ProtoJson(response)
                              : Printable(CompareText(comparison, response, streams.now())));
  return ExitCodeFor(response);
}

void AddCompareFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<CompareFlags>();
  AddRunSources(&flags->plan, line, command);
  AddTexts(
      "--each", "plan with each of these: FLAG=VALUE,VALUE...; repeatable",
      [flags](const std::string& text) { return ReadAxis(text, &flags->axes); }, command);
  AddRunFlags(&flags->plan, command);
  OnceRead(command, line, flags, RunCompare, {.seconds = kManyRunsSeconds});
}

}  // namespace

const Command kCompareCommand = {"compare", "Plan several runs that differ in some flags",
                                 kCompareHelp, AddCompareFlags};

}  // namespace sextant::client
