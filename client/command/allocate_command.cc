// `sextant allocate`: says how many parameters and tokens a budget of compute buys.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "client/command/plan_request.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/given_fields.h"
#include "client/report/allocation_text.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kAllocateHelp[] =
    "The budget is FLOPs, or devices for a time: --duration, --deadline, or what --budget-usd "
    "pays\n"
    "for. Published rules answer side by side, since they disagree (docs/sizing.md): parameters "
    "N,\n"
    "tokens, and where the rule has a law of loss, the loss there and its rise at half and twice "
    "N.\n"
    "Flags given with --request override its fields; one that names devices all its devices.\n"
    "\n"
    "Examples:\n"
    "  What do 8 GPUs do in a week, and which model is that worth?\n"
    "    sextant allocate --accelerator=h100-sxm --devices=8 --duration=7d --mfu=0.5\n"
    "  Gopher's budget, by one rule, and where that stands:\n"
    "    sextant allocate 5.76e23 --rule=chinchilla-1 --sources\n"
    "  For a model that will serve two trillion tokens, or has 200 for each parameter:\n"
    "    sextant allocate 1e22 --served-tokens=2T --tokens-per-parameter=200\n"
    "  As much as 100,000 dollars buy:\n"
    "    sextant allocate --accelerator=h100-sxm --devices=64 --budget-usd=100000 \\\n"
    "        --device-hour-price-usd=2\n"
    "  At the rate that sextant probe measured, by a deadline:\n"
    "    sextant allocate --device=host --devices=1 --deadline=2040-01-01\n"
    "  A request from a file, for a week more:\n"
    "    sextant allocate --request=budget.json --duration=14d\n";

constexpr char kBudget[] = "Budget: FLOPs, or devices (named in one of three ways) and their time";
constexpr char kUse[] = "What it is for";

// --help shows budgets first.
constexpr FlagRow kAllocateRows[] = {
    {.field = "flops", .group = kBudget},
    {.field = "cluster.device.accelerator", .group = kBudget},
    {.field = "cluster.device.host_devices.devices", .group = kBudget},
    {.field = "cluster.device_count", .group = kBudget},
    {.field = "cluster.peak_flops_per_second", .group = kBudget},
    {.field = "assumed_mfu", .group = kBudget},
    {.field = "compute_data_type", .group = kBudget},
    {.field = "duration", .group = kBudget},
    {.field = "economics.start_time", .group = kBudget},
    {.field = "economics.deadline",
     .help = "until when, e.g. 2027-03-31T18:00:00Z",
     .group = kBudget},
    {.field = "economics.budget_usd",
     .help = "for as long as this pays for, in US dollars",
     .group = kBudget},
    {.field = "economics.device_hour_price_usd", .group = kBudget},
    {.field = "rate_requirement.minimum_source",
     .help = "the worst source allowed for the rate",
     .group = kBudget},
    {.field = "rate_requirement.maximum_age",
     .help = "the oldest measurement allowed, e.g. 36h",
     .group = kBudget},
    {.field = "cluster.device.calibrations.calibrations",
     .help = "one of: sextant calibration --save; repeatable, up to 16",
     .group = kBudget},
    {.field = "rule", .group = kUse},
    {.field = "flops_per_parameter_token", .group = kUse},
    {.field = "served_token_count", .group = kUse},
    {.field = "tokens_per_parameter", .group = kUse},
    {.field = "cluster", .word = "--accelerator", .below = Below::kUnknown},
};

constexpr auto kAllocateWords = RequestFieldWords<v1::AllocateComputeRequest, kAllocateRows>;

struct AllocateFlags : GivenFields {
  v1::AllocateComputeRequest request;  // the values of flags
  bool sources = false;
};

int RunAllocate(const AllocateFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::AllocateComputeRequest request;
  v1::AllocateComputeResponse response;
  grpc::Status status = ReadRequestFile(flags, streams.in, &request);
  if (status.ok()) status = Override(flags, flags.request, streams.in, &request);
  if (request.has_economics()) StartNow(streams.now(), request.mutable_economics());
  if (status.ok()) {
    status = Call(line.server, &v1::PlanningService::Stub::AllocateCompute, request, &response);
  }
  if (status.ok() && response.allocations().empty()) status = Incomplete("allocations");
  if (!status.ok()) {
    return Fail(
        status, line, streams,
        {.field = kAllocateWords,
         .description = RequestDescriptionWords<v1::AllocateComputeRequest, kAllocateRows>});
  }
  const auto text = [&] {
    return absl::StrCat(AllocationText(request, response, kAllocateWords),
                        flags.sources ? AllocationSources(response, kAllocateWords) : "");
  };
  return Show(line, streams, response, text);
}

void AddAllocateFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<AllocateFlags>();
  AddRequestFile(flags->request, flags.get(), command);
  AddFlags(RequestFlags<v1::AllocateComputeRequest, kAllocateRows>(), flags.get(), &flags->request,
           command);
  command->add_flag("--sources", flags->sources,
                    "say where rules and rates stand, and their limits");
  const auto check = [flags] {
    const std::string conflict = ConflictOfDevices(*flags);
    if (!conflict.empty()) throw CLI::ValidationError(conflict);
  };
  OnceRead(command, line, flags, RunAllocate, {.check = check});
}

}  // namespace

const Command kAllocateCommand = {"allocate",
                                  "Say how many parameters and tokens a budget of compute buys",
                                  kAllocateHelp, AddAllocateFlags};

}  // namespace sextant::client
