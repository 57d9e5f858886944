// `sextant memory`: counts what each GPU holds, and says whether it fits.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "client/command/open_layout.h"
#include "client/command/plan_request.h"
#include "client/command/run_client.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "client/plot/charts.h"
#include "client/report/memory_text.h"
#include "client/report/whole_run_text.h"
#include "client/text/layout_words.h"
#include "client/text/text.h"
#include "proto/words/layout_sizes.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kMemoryHelp[] =
    "What each GPU of each pipeline stage holds when that stage holds the most: model state,\n"
    "activations, transients, buffers and an estimated reserve, which has a low and a high end.\n"
    "FITS: from a chance of 90 % on (--fits-chance); DOES NOT FIT: below 10 %\n"
    "(--does-not-fit-chance); TIGHT: between. STATE FITS: only model state was counted, which\n"
    "--require-activations refuses.\n"
    "With --devices and --gbs alone the layout is the one that sextant plan chooses; without\n"
    "--devices there are as many as the layout's sizes need. Numbers, files and --request\n"
    "are read as sextant plan reads them; flags of data types, --schedule and --optimizer take\n"
    "the names that sextant plan --help shows, --schedule 1f1b, zb-h1 and zb-h2 too. Waits 120 s,\n"
    "since it may search, unless --timeout says otherwise.\n"
    "\n"
    "Examples:\n"
    "  Does it fit, and what takes the memory?\n"
    "    sextant memory llama-3.1-70b --tp=8 --pp=4 --devices=64 --zero=optimizer \\\n"
    "        --sequence-length=8192 --accelerator=h100-sxm\n"
    "  Every tensor of it, and a picture:\n"
    "    sextant memory llama-3.1-8b --tp=8 --sequence-length=8192 --accelerator=h100-sxm \\\n"
    "        --ledger --svg=memory.svg\n"
    "  A mixture of experts, all layers computed again:\n"
    "    sextant memory mixtral-8x7b --pp=4 --ep=8 --zero=1 --gbs=256 --recompute=full \\\n"
    "        --sequence-length=4096 --devices=32 --accelerator=a100-sxm-80\n"
    "  Adapters on a base in 4 bits:\n"
    "    sextant memory llama-3.1-8b --lora-rank=16 --freeze-base --frozen-data-type=fp4 \\\n"
    "        --sequence-length=2048 --framework=pytorch-fsdp --accelerator=a10\n"
    "  A rule of thumb, shared out evenly: 16 bytes a parameter, and activations\n"
    "    sextant memory --parameters=7e9 --activation-bytes=8GiB --accelerator=h100-sxm \\\n"
    "        --devices=2\n";

struct MemoryFlags {
  PlanRequestFlags plan;
  std::string svg_file;  // "" for none
};

// The API's limit on these sizes: no product below overflows. Larger sizes are left for the server
// to refuse.
constexpr int64_t kMaxRanks = 65'536;

int64_t SizeWithin(int64_t size) { return size <= kMaxRanks ? size : 1; }

int64_t DevicesOf(const v1::RunLayout& layout, std::string* sentence) {
  const words::LayoutSizes sizes = words::SizesOf(layout);
  const int64_t tensor = SizeWithin(sizes.tensor);
  const int64_t pipeline = SizeWithin(sizes.pipeline);
  const int64_t context = SizeWithin(sizes.context);
  const int64_t expert = SizeWithin(sizes.expert);
  const int64_t expert_tensor = sizes.expert_tensor > 0 ? SizeWithin(sizes.expert_tensor) : tensor;
  // Experts are distributed among ranks that otherwise share tensors and sequences, or train on
  // data of their own. The least number of data parallel ranks that this takes.
  const int64_t ranks = std::lcm(tensor * context, expert * expert_tensor);
  const int64_t data = ranks / (tensor * context);
  *sentence = absl::StrCat("--devices=", ranks * pipeline, ": tensor ", tensor, " x pipeline ",
                           pipeline, " x context ", context, " x data ", data,
                           data > 1 ? " ranks, the fewest that the experts need" : " ranks");
  return ranks * pipeline;
}

// Fills in fields that `request` lacks and that its memory does not depend on or that follow from
// the rest: tokens, an empty layout, as many devices as the layout's sizes need. Returns a sentence
// about each. A bare parameter count, or given activations, stay without a layout: memory is then
// shared evenly.
std::vector<std::string> FillIn(v1::PlanRunRequest* request) {
  std::vector<std::string> sentences;
  if (request->training().token_count() == 0) {
    request->mutable_training()->set_token_count(1);
    sentences.emplace_back("--tokens=1: memory does not depend on it");
  }
  const bool even =
      request->model().has_parameter_count() || request->training().has_activation_bytes();
  if (!request->has_layout() && !even) {
    request->mutable_layout();
    sentences.emplace_back("an empty layout: no tensor, pipeline or context parallelism");
  }
  if (request->has_layout() && request->cluster().device_count() == 0) {
    // A layout decides how many devices there are, so that it is not open.
    if (LeavesLayoutOpen(*request)) request->mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
    std::string sentence;
    request->mutable_cluster()->set_device_count(DevicesOf(request->layout(), &sentence));
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

// Checks that `response` holds what was asked for.
grpc::Status CheckAnswer(const v1::PlanRunRequest& request, const v1::PlanRunResponse& response) {
  const v1::Memory& memory = response.plan().memory();
  const bool whole = request.options().view() == v1::PLAN_VIEW_BASIC ||
                     (memory.peak_stage() >= 0 && memory.peak_stage() < memory.stages_size());
  if ((request.has_layout() || IsByStage(response.plan())) && !whole) {
    return Incomplete("memory by stage: the server is older than this client, or newer");
  }
  const bool judged = ExitCodeOfVerdict(response.plan().verdict()).has_value();
  return judged ? grpc::Status::OK : Incomplete("verdict that this client knows");
}

grpc::Status Ask(const MemoryFlags& flags, const CommandLine& line, const Streams& streams,
                 v1::PlanRunRequest* request, v1::PlanRunResponse* response) {
  if (!request->has_layout() && !flags.svg_file.empty()) {
    return RefusalStatus("USAGE",
                         "--svg draws the stages of a layout, and there is none with "
                         "--parameters or --activation-bytes");
  }
  const bool basic = request->options().view() == v1::PLAN_VIEW_BASIC;
  if (basic && (!line.json() || !flags.svg_file.empty())) {
    return RefusalStatus("USAGE",
                         "--view=basic leaves out the stages, which are shown here: leave it out, "
                         "or give --output=json alone");
  }
  // Where no layout can be timed, the memory of the run as it is given is still known.
  const grpc::Status status =
      AskForPlan(line.server, streams, v1::LAYOUT_SEARCH_NONE, request, response);
  return status.ok() ? CheckAnswer(*request, *response) : status;
}

int RunMemory(const MemoryFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::PlanRunRequest request;
  grpc::Status status = BuildPlanRequest(flags.plan, line.server, streams, &request);
  v1::PlanRunResponse response;
  std::vector<std::string> filled_in;
  if (status.ok()) {
    filled_in = FillIn(&request);
    // Stages are part of it. A request's file may be another command's.
    if (!flags.plan.Sets("options.view")) {
      request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
    }
    status = Ask(flags, line, streams, &request, &response);
  }
  if (!status.ok()) return Fail(status, line, streams, WordsOfPlan(request));
  if (response.plan().has_search()) {
    filled_in.push_back(absl::StrCat(LayoutFlags(response.plan().search().chosen()),
                                     ": the layout that sextant plan chooses"));
  }
  if (!flags.svg_file.empty()) {
    const absl::Status written =
        WriteText(flags.svg_file, RenderSvg({MemoryPlot(response.plan())}));
    if (!written.ok()) return FailToWrite(written, line, streams);
  }
  const bool whole = flags.plan.verbose || request.options().include_ledger();
  const auto text = [&] {
    return whole ? MemoryText(request, response, filled_in)
                 : BriefMemory(request, response.plan(), filled_in, BriefWidth(streams));
  };
  streams.out << (line.json()       ? ProtoJson(response)
                  : line.one_line() ? VerdictLine(response.plan())
                                    : Printable(text()));
  return *ExitCodeOfVerdict(response.plan().verdict());
}

void AddMemoryFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<MemoryFlags>();
  flags->plan.usual_devices = [](const v1::RunLayout& layout) {
    std::string sentence;
    return DevicesOf(layout, &sentence);
  };
  AddRunSources(&flags->plan, line, command);
  AddRunFlags(&flags->plan, command);
  command->add_flag("-v,--verbose", flags->plan.verbose, "all stages, changes and assumptions");
  AddFile("--svg", &flags->svg_file, "draw the stages as bars into this file", command);
  OnceRead(command, line, flags, RunMemory, {.seconds = kManyRunsSeconds});
}

}  // namespace

const Command kMemoryCommand = {"memory", "Count what each GPU holds, and say whether it fits",
                                kMemoryHelp, AddMemoryFlags};

}  // namespace sextant::client
