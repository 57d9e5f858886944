// `sextant size-model`: the largest model that fits on given devices, and meets a deadline and a
// budget.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "client/command/command.h"
#include "client/command/plan_request.h"
#include "client/command/run_client.h"
#include "client/flags/plan_flags.h"
#include "client/io/message_file.h"
#include "client/report/size_model_text.h"
#include "client/text/text.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kSizeModelHelp[] =
    "Without a model: the most parameters whose state the devices hold, and whose textbook time\n"
    "meets --max-duration (or --deadline) and --budget where they are given. With a model: the\n"
    "largest of its proportions, its heads, width and depth scaled together (docs/sizing.md). "
    "With\n"
    "--gbs each gets the fastest layout that a bounded search finds. Other flags are those of\n"
    "sextant plan.\n"
    "The exit code is 0 where there is such a model, 1 where there is none. Waits 120 s, unless\n"
    "--timeout says otherwise.\n"
    "\n"
    "Examples:\n"
    "  How many parameters do eight GPUs hold?\n"
    "    sextant size-model --accelerator=h100-sxm --devices=8 --tokens=1T\n"
    "  The largest Llama that 512 GPUs train on 20 tokens a parameter in 30 days:\n"
    "    sextant size-model llama-3.1-8b --tokens-per-parameter=20 --max-duration=30d \\\n"
    "        --accelerator=h100-sxm --node-type=dgx-h100 --devices=512 --gbs=1024 \\\n"
    "        --sequence-length=8192 --framework=megatron-lm\n";

constexpr char kSizeModelGroup[] = "Size";

constexpr FieldFlag kSizeModelFlags[] = {
    {"--max-duration", "max_duration", "the longest time from start to end, e.g. 90d",
     kSizeModelGroup},
    {"--tokens-per-parameter", "tokens_per_parameter", "for --tokens: of each, e.g. 20",
     kSizeModelGroup},
};

struct SizeModelFlags {
  PlanRequestFlags plan;
  v1::SizeModelRequest request;
};

// Flags of a run whose model is asked for.
bool IsOfAModelsRun(const FieldFlag& flag) {
  const absl::string_view field = flag.field;
  return field != "options.view" && field != "model.parameter_count" &&
         !absl::StartsWith(field, "model.changes.") && !absl::StartsWith(field, "options.include_");
}

std::string ModelRequestWords(const std::string& field) {
  const std::string own = FieldWordsOf({kSizeModelFlags}, field);
  return own != field ? own : PlanFieldWords(std::string(absl::StripPrefix(field, "run.")));
}

int RunSizeModel(const SizeModelFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::SizeModelRequest request = flags.request;
  v1::SizeModelResponse response;
  grpc::Status status = BuildPlanRequest(flags.plan, streams, request.mutable_run());
  if (status.ok()) {
    StartNow(streams.now(), request.mutable_run());
    status = Call(line.server, &v1::PlanningService::Stub::SizeModel, request, &response);
  }
  if (status.ok() && response.basis() == v1::SIZE_BASIS_UNSPECIFIED) status = Incomplete("model");
  if (!status.ok()) {
    return Fail(status, line, streams,
                {.field = ModelRequestWords, .description = PlanDescriptionWords});
  }
  streams.out << (line.json() ? ProtoJson(response)
                              : Printable(SizeModelText(request, response, streams.now())));
  return response.met() ? kExitFits : kExitDoesNotFit;
}

}  // namespace

void AddSizeModel(CLI::App* app, CommandLine* line) {
  const auto flags = std::make_shared<SizeModelFlags>();
  CLI::App* command = AddCommand("size-model", "Find the largest model that given devices train",
                                 kSizeModelHelp, app);
  AddRequestFile(&flags->plan, command);
  for (const FieldFlag& flag : kSizeModelFlags) AddFieldFlag(flag, &flags->request, command);
  for (const FieldFlag& flag : PlanFlags()) {
    if (IsOfAModelsRun(flag)) AddPlanFlag(flag, &flags->plan, command);
  }
  OnceReadOfManyRuns(command, line, [flags](const CommandLine& read, const Streams& streams) {
    return RunSizeModel(*flags, read, streams);
  });
}

}  // namespace sextant::client
