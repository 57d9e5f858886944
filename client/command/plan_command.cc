// `sextant plan`: plans a training run, and says whether it fits. `sextant search`: the fastest
// layouts that fit.
#include <grpcpp/client_context.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/command/command.h"
#include "client/command/open_layout.h"
#include "client/command/plan_request.h"
#include "client/command/run_client.h"
#include "client/flags/plan_flags.h"
#include "client/io/call_error.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "client/io/watched_call.h"
#include "client/plot/charts.h"
#include "client/report/memory_text.h"
#include "client/report/plan_text.h"
#include "client/report/rates_text.h"
#include "client/report/whole_run_text.h"
#include "client/text/text.h"
#include "sextant/v1/planning_service.grpc.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {
namespace {

constexpr char kPlanHelp[] =
    "Numbers: counts take K M B T (powers of 1000) or an exponent: 70B = 70e9. Sizes take B, KB\n"
    "to PB (powers of 1000) and KiB to PiB (powers of 1024). Ranges are the server's to check.\n"
    "A TIME takes s, m (minutes), h or d. Flags given with --request override its fields; a model "
    "flag\n"
    "replaces its whole model, and one that names devices all its devices. A FILE starts the run:\n"
    "DeepSpeed's or torchtitan's configuration, Megatron-LM's arguments, a model's config.json;\n"
    "several add up, and flags and --request override them (docs/launchers.md, \"Files\").\n"
    "--flops-convention takes six-n-total, six-n-non-embedding, kaplan-2020, chinchilla-2022,\n"
    "palm-2022, megatron-2021-hardware, megatron-2021-model, megatron-causal, exact-full,\n"
    "exact-causal or exact-causal-diagonal; sextant count --conventions compares them.\n"
    "--emit takes megatron, megatron-bridge, torchtitan, torchtitan-python, deepspeed,\n"
    "accelerate, axolotl, slurm, pytorchjob, trainjob or jobset.\n"
    "--schedule takes 1f1b (one-forward-one-backward), gpipe, zb-h1, zb-h2 (zero-bubble-) or\n"
    "dualpipe. Waits 120 s, since it may search, unless --timeout says otherwise.\n"
    "\n"
    "Examples:\n"
    "  Does it fit, and for how long does it run?\n"
    "    sextant plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=1024\n"
    "  A bare parameter count, with money, as JSON for a program:\n"
    "    sextant --output=json plan --parameters=8B --tokens=2e12 --accelerator=a100-sxm-80 \\\n"
    "        --devices=64 --device-hour-price-usd=1.80\n"
    "  Another optimizer, and every number derived:\n"
    "    sextant plan llama-3.1-8b --tokens=1T --accelerator=h100-sxm --devices=8 \\\n"
    "        --optimizer=adam-8bit --derivation\n"
    "  Which layout is fastest? Looked for where only the batch is given:\n"
    "    sextant plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --node-type=dgx-h100 \\\n"
    "        --devices=512 --gbs=512 --sequence-length=8192 --framework=megatron-lm\n"
    "  What a GPU's time goes into, operation by operation:\n"
    "    sextant plan llama-3.1-70b --tokens=1T --accelerator=h100-sxm --devices=64 --tp=8 --pp=4 "
    "\\\n"
    "        --sequence-length=8192 --explain\n"
    "  How long a step takes on servers over a network, and a picture of it:\n"
    "    sextant plan llama-3.1-70b --tokens=1T --accelerator=h100-sxm --node-type=dgx-h100 \\\n"
    "        --devices=64 --tp=8 --pp=4 --gbs=128 --sequence-length=8192 --recompute=none \\\n"
    "        --framework=megatron-lm --svg=step.svg\n"
    "  On this server's processor, at the rates that sextant probe measured, or not at all:\n"
    "    sextant plan gpt2 --tokens=10B --device=host --devices=1 "
    "--minimum-source=measured-device\n"
    "  At the rates of another host, and for a model as its config.json describes it:\n"
    "    sextant plan --config=config.json --tokens=10B --calibration=node7.json --devices=64\n"
    "  At the rates of the very hosts that it will run on, as the fleet measured them:\n"
    "    sextant plan llama-3.1-8b --tokens=1T --fleet=h100-sxm --hosts=node1,node2 --devices=16\n"
    "  With adapters, of which alone there are gradients and optimizer state:\n"
    "    sextant plan llama-3.1-8b --lora-rank=16 --freeze-base --tokens=1B \\\n"
    "        --sequence-length=4096 --accelerator=a10 --devices=1\n"
    "  A request from a file, on more devices:\n"
    "    sextant plan --request=run.json --devices=2048\n"
    "  Whether it ends in time, with failures and checkpoints:\n"
    "    sextant plan llama-3.1-405b --tokens=15T --accelerator=h100-sxm --node-type=dgx-h100 \\\n"
    "        --devices=16128 --tp=8 --pp=14 --vpp=9 --gbs=2016 --sequence-length=8192 --zero=1 \\\n"
    "        --recompute=none --recompute-norm-outputs=true --recompute-activation-function=true "
    "\\\n"
    "        --failures-per-device-hour=2e-5 --restart-duration=10m \\\n"
    "        --checkpoint-write-bytes-per-second=1e12 --deadline=2040-01-01\n"
    "  The fastest layout as its launcher's arguments or file; and a run's own, planned:\n"
    "    sextant plan llama-3.1-70b --tokens=1T --accelerator=h100-sxm --node-type=dgx-h100 \\\n"
    "        --devices=64 --gbs=128 --sequence-length=8192 --recompute=none --emit=megatron\n"
    "    sextant plan mixtral-8x7b --accelerator=h100-sxm --devices=64 --from-megatron='--bf16\n"
    "        --tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 8\n"
    "        --use-distributed-optimizer --global-batch-size 256 --seq-length 4096\n"
    "        --train-iters 1000'\n"
    "  In a job script: refuse on 1, 3 and 8; whatever else goes wrong, launch unplanned:\n"
    "    sextant plan --request=run.json || case $? in (1|3|8) exit 1;; esac\n";

constexpr char kSearchHelp[] =
    "The fastest layout that fits and the next four; -v: the next nine, and the least memory for\n"
    "a step of each length, which --svg draws. Flags are those of sextant plan: sizes that they\n"
    "give are kept, the rest chosen among those that divide the devices, tensor parallel ranks\n"
    "within a server. docs/search.md has the whole space. The exit code is that of the first\n"
    "layout's plan. Waits 120 s, unless --timeout says otherwise.\n"
    "\n"
    "Examples:\n"
    "  Of all layouts, with a picture of step time against memory:\n"
    "    sextant search llama-3.1-70b --tokens=15T --accelerator=h100-sxm --node-type=dgx-h100 \\\n"
    "        --devices=64 --gbs=128 --sequence-length=8192 --framework=megatron-lm \\\n"
    "        --svg=layouts.svg\n"
    "  Of those with eight tensor parallel ranks, for a program:\n"
    "    sextant --output=json search llama-3.1-70b --tokens=15T --accelerator=h100-sxm \\\n"
    "        --node-type=dgx-h100 --devices=64 --gbs=128 --sequence-length=8192 --tp=8\n";

struct PlanCommandFlags {
  PlanRequestFlags plan;
  Emission emission;
  std::string svg_file;  // "" for none
  bool layouts = false;  // `sextant search`: the best layouts alone
};

// The warnings that say why there is no time of a step; else what it takes.
std::string WhyNoStep(const v1::Plan& plan) {
  std::vector<std::string> reasons;
  for (const v1::Note& note : plan.warnings()) {
    if (note.kind() == v1::NOTE_KIND_STEP_NOT_PREDICTED) {
      reasons.push_back(NoteText(note, PlanFieldWords));
    }
  }
  return reasons.empty() ? "it takes a layout, e.g. --tp, and --sequence-length"
                         : absl::StrJoin(reasons, " ");
}

absl::Status DrawStep(const v1::PlanRunRequest& request, const v1::Plan& plan,
                      const std::string& file) {
  if (!(plan.step_time().seconds().expected() > 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat("--svg draws the time of a step, which the plan lacks: ", WhyNoStep(plan)));
  }
  return WriteText(file, RenderSvg({StepPlot(request, plan)}));
}

// Why a search has no front to draw.
const char* WhyNoFront(const v1::PlanRunRequest& request, const v1::Plan& plan) {
  if (!plan.has_search()) return "nothing was searched for";
  return request.options().view() == v1::PLAN_VIEW_FULL ? "no layout fits" : "it takes --view=full";
}

absl::Status DrawFront(const v1::PlanRunRequest& request, const v1::Plan& plan,
                       const std::string& file) {
  const Plot chart = FrontPlot(plan, Medium::kPicture);
  if (chart.marks.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--svg draws the time and memory of layouts that fit: ", WhyNoFront(request, plan)));
  }
  return WriteText(file, RenderSvg({chart}));
}

// Fills `*request` and asks the server for its plan.
grpc::Status Ask(const PlanCommandFlags& flags, const CommandLine& line, const Streams& streams,
                 v1::PlanRunRequest* request, v1::PlanRunResponse* response) {
  grpc::Status status = BuildPlanRequest(flags.plan, line.server, streams, request);
  if (status.ok()) status = PrepareEmission(flags.emission, line, request);
  if (!status.ok()) return status;
  ShowAll(request);
  if (flags.layouts && request->options().search() == v1::LAYOUT_SEARCH_UNSPECIFIED) {
    request->mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  }
  StartNow(streams.now(), request);
  // Where no layout can be timed, the service plans state alone.
  status = AskForPlan(line.server, streams, v1::LAYOUT_SEARCH_UNSPECIFIED, request, response);
  if (status.ok() && !ExitCodeOfPlan(response->plan()).has_value()) {
    return Incomplete("verdict that this client knows");
  }
  return status;
}

// Writes the pictures and files that flags ask for.
absl::Status WriteFiles(const PlanCommandFlags& flags, const v1::PlanRunRequest& request,
                        const v1::Plan& plan, const EmittedFile& emitted) {
  if (!flags.svg_file.empty()) {
    absl::Status drawn = flags.layouts ? DrawFront(request, plan, flags.svg_file)
                                       : DrawStep(request, plan, flags.svg_file);
    if (!drawn.ok()) return drawn;
  }
  if (flags.emission.file.empty()) return absl::OkStatus();
  return WriteText(flags.emission.file, emitted.text);
}

// The text that the user asked for; the head of a plan if nothing else.
std::string TextOf(const PlanCommandFlags& flags, const v1::PlanRunRequest& request,
                   const v1::PlanRunResponse& response, const Streams& streams) {
  const size_t width = BriefWidth(streams);
  if (flags.layouts) {
    return flags.plan.verbose ? LayoutsText(response.plan(), streams.now())
                              : BriefSearch(response.plan(), width);
  }
  const v1::PlanOptions& options = request.options();
  if (flags.plan.verbose || options.include_derivation() || options.include_ledger() ||
      options.include_operations()) {
    return PlanText(response, streams.now());
  }
  return BriefPlan(response.plan(), streams.now(), width);
}

// Refuses a plan of state alone, which has no layout to write.
grpc::Status RequireLayout(const v1::Plan& plan) {
  const bool state = plan.memory().scope() == v1::MEMORY_SCOPE_MODEL_STATE ||
                     plan.memory().scope() == v1::MEMORY_SCOPE_MODEL_STATE_AND_GIVEN_ACTIVATIONS;
  if (!state) return grpc::Status::OK;
  return RefusalStatus(
      "USAGE", absl::StrCat("--emit writes a layout, and none was planned: ", WhyNoStep(plan)));
}

int RunPlan(const PlanCommandFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::PlanRunRequest request;
  v1::PlanRunResponse response;
  grpc::Status status = Ask(flags, line, streams, &request, &response);
  EmittedFile emitted;
  if (status.ok() && flags.emission.wanted()) {
    status = RequireLayout(response.plan());
    if (status.ok()) status = Emit(flags.emission, line, &request, &response, &emitted);
  }
  if (!status.ok()) return Fail(status, line, streams, WordsOfPlan(request));
  const absl::Status written = WriteFiles(flags, request, response.plan(), emitted);
  if (!written.ok()) return FailToWrite(written, line, streams);
  streams.err << EmissionNotes(emitted);
  const ExitCode exit_code = *ExitCodeOfPlan(response.plan());
  if (flags.emission.wanted() && flags.emission.file.empty()) {
    // Nothing else says that the layout is not one to launch.
    if (exit_code != kExitFits) {
      streams.err << Printable(PlanHead(response.plan(), streams.now(), TextWidth()));
    }
    streams.out << emitted.text;
    return exit_code;
  }
  streams.out << (line.json()       ? ProtoJson(response)
                  : line.one_line() ? VerdictLine(response.plan())
                                    : Printable(TextOf(flags, request, response, streams)));
  return exit_code;
}

void AddSearchFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<PlanCommandFlags>();
  flags->layouts = true;
  AddRunSources(&flags->plan, line, command);
  AddRunFlags(&flags->plan, command);
  command->add_flag("-v,--verbose", flags->plan.verbose, "the next nine, and time against memory");
  AddFile("--svg", &flags->svg_file, "draw the front of step time and memory into this file",
          command);
  OnceRead(command, line, flags, RunPlan, {.seconds = kManyRunsSeconds});
}

void AddPlanFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<PlanCommandFlags>();
  AddRunSources(&flags->plan, line, command);
  AddRunFlags(&flags->plan, command);
  command->add_flag("-v,--verbose", flags->plan.verbose, "all tables, sources and assumptions");
  AddFile("--svg", &flags->svg_file, "draw the time of a step by cause into this file", command);
  AddEmission(&flags->emission, command);
  OnceRead(command, line, flags, RunPlan, {.seconds = kManyRunsSeconds});
}

}  // namespace

const Command kSearchCommand = {"search", "List the fastest layouts that fit", kSearchHelp,
                                AddSearchFlags};
const Command kPlanCommand = {"plan", "Plan a training run, and say whether it fits", kPlanHelp,
                              AddPlanFlags};

}  // namespace sextant::client
