// `sextant allocate`: says how many parameters and tokens a budget of compute buys.
#include <google/protobuf/field_mask.pb.h>

#include <CLI/CLI.hpp>
#include <istream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "client/command/command.h"
#include "client/command/plan_request.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "client/io/message_file.h"
#include "client/report/allocation_text.h"
#include "client/text/text.h"
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

constexpr FieldFlag kAllocateFlags[] = {
    {"FLOPS,--flops", "flops", "of training, e.g. 5.76e23", kBudget},
    {"--accelerator", "cluster.device.accelerator", "a catalogue name: sextant accelerators",
     kBudget},
    {"--device-uuids,--device", "cluster.device.host_devices.devices",
     "one of: sextant devices; host is the CPU; repeatable", kBudget},
    {"--device-count,--devices", "cluster.device_count", "how many devices", kBudget},
    {"--peak-flops-per-second", "cluster.peak_flops_per_second",
     "dense peak FLOP/s of one, for the datasheet's", kBudget},
    {"--assumed-mfu,--mfu", "assumed_mfu", "share of the peak; default: 0.4, or the measured rate",
     kBudget},
    {"--compute-data-type", "compute_data_type", "what matrix units multiply in; default: bf16",
     kBudget},
    {"--duration", "duration", "for how long, e.g. 7d", kBudget},
    {"--start-time,--start", "economics.start_time",
     "e.g. 2027-01-31; default with --deadline: now", kBudget},
    {"--deadline", "economics.deadline", "until when, e.g. 2027-03-31T18:00:00Z", kBudget},
    {"--budget-usd,--budget", "economics.budget_usd", "for as long as this pays for, in US dollars",
     kBudget},
    {"--device-hour-price-usd", "economics.device_hour_price_usd",
     "US dollars for one device and hour", kBudget},
    {"--minimum-source,--minimum-rate-source", "rate_requirement.minimum_source",
     "the worst source allowed for the rate", kBudget},
    {"--maximum-age", "rate_requirement.maximum_age", "the oldest measurement allowed, e.g. 36h",
     kBudget},
    {"--rule", "rule", "default: all, side by side", kUse},
    {"--flops-per-parameter-token", "flops_per_parameter_token",
     "of training; default: 6; 8 with full recomputation", kUse},
    {"--served-token-count,--served-tokens", "served_token_count",
     "train for longer what will serve this many, e.g. 2T", kUse},
    {"--tokens-per-parameter", "tokens_per_parameter", "or train on this many for each, e.g. 200",
     kUse}};

constexpr FieldFlag kDeviceWords[] = {
    WordFor("--device", "cluster.device.host_devices"),
    WordFor("--calibration", "cluster.device.calibrations.calibrations", Below::kAppended),
    WordFor("--calibration", "cluster.device.calibrations"),
};
constexpr FieldFlag kClusterWords[] = {
    WordFor("--fleet", "cluster.device.fleet"),
    WordFor("--accelerator", "cluster.device"),
    WordFor("--accelerator", "cluster", Below::kUnknown),
};

// The flags of `sextant plan` for fields that a budget's request has too and that none above sets.
std::vector<FieldFlag> FurtherFlags() {
  std::vector<FieldFlag> flags;
  for (const FieldFlag& flag : PlanFlags()) {
    const auto* const field = FindField(*v1::AllocateComputeRequest::descriptor(), flag.field);
    const auto has_field = [&flag](const FieldFlag& own) {
      return absl::string_view(own.field) == flag.field;
    };
    const bool is_further =
        field != nullptr && !IsFile(FormOf(*field)) && absl::c_none_of(kAllocateFlags, has_field);
    if (is_further) flags.push_back(flag);
  }
  return flags;
}

std::string AllocateFieldWords(const std::string& field) {
  return FieldWordsOf({kAllocateFlags, kDeviceWords, FurtherFlags(), kClusterWords}, field);
}

std::string AllocateDescription(const std::string& text) {
  return DescriptionWordsOf({kAllocateFlags, FurtherFlags(), kClusterWords}, text);
}

struct AllocateFlags {
  std::string request_file;            // "" where none was given, "-" for standard input
  v1::AllocateComputeRequest request;  // but for the calibrations
  google::protobuf::FieldMask given;   // the fields that flags set
  std::vector<std::string> calibration_files;
  bool sources = false;
};

// The ways in which flags name the devices.
std::set<std::string> WaysOf(const AllocateFlags& flags) {
  std::set<std::string> ways;
  for (const std::string& field : flags.given.paths()) {
    if (!absl::StartsWith(field, "cluster.device.")) continue;
    constexpr char kFleet[] = "cluster.device.fleet";
    ways.insert(absl::StartsWith(field, kFleet) ? kFleet : field);
  }
  if (!flags.calibration_files.empty()) ways.insert("cluster.device.calibrations");
  return ways;
}

// Refuses devices that flags name in two ways: the request would keep the last one in silence.
void CheckWays(const AllocateFlags& flags) {
  if (WaysOf(flags).size() > 1) {
    throw CLI::ValidationError(
        "--accelerator, --device, --calibration and --fleet each name the devices: give one of "
        "them");
  }
}

// Fills `*request` from --request's file and then from the flags; the devices that they name
// replace all of the file's.
grpc::Status Build(const AllocateFlags& flags, std::istream& in,
                   v1::AllocateComputeRequest* request) {
  if (!flags.request_file.empty()) {
    grpc::Status read = ReadMessage(flags.request_file, in, request);
    if (!read.ok()) return read;
  }
  if (!WaysOf(flags).empty()) request->mutable_cluster()->clear_device();
  SetFields(flags.given, flags.request, request);
  if (flags.calibration_files.empty()) return grpc::Status::OK;
  v1::DeviceSelector* device = request->mutable_cluster()->mutable_device();
  return ReadCalibrationFiles(flags.calibration_files, in,
                              device->mutable_calibrations()->mutable_calibrations());
}

int RunAllocate(const AllocateFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::AllocateComputeRequest request;
  v1::AllocateComputeResponse response;
  grpc::Status status = Build(flags, streams.in, &request);
  if (request.has_economics()) StartNow(streams.now(), request.mutable_economics());
  if (status.ok()) {
    status = Call(line.server, &v1::PlanningService::Stub::AllocateCompute, request, &response);
  }
  if (status.ok() && response.allocations().empty()) status = Incomplete("allocations");
  if (!status.ok()) {
    return Fail(status, line, streams,
                {.field = AllocateFieldWords, .description = AllocateDescription});
  }
  std::string text = AllocationText(request, response, AllocateFieldWords);
  if (flags.sources) text += AllocationSources(response, AllocateFieldWords);
  streams.out << (line.json() ? ProtoJson(response) : Printable(text));
  return kExitFits;
}

void AddAllocateFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<AllocateFlags>();
  command
      ->add_option("--request", flags->request_file,
                   "an AllocateComputeRequest in proto JSON; - is stdin")
      ->type_name("FILE")
      ->check(CheckFileOrInput);
  for (const FieldFlag& flag : kAllocateFlags) {
    AddFieldFlag(flag, &flags->request, command, &flags->given);
  }
  command
      ->add_option("--calibrations,--calibration", flags->calibration_files,
                   "one of: sextant calibration --save; repeatable, up to 16")
      ->allow_extra_args(false)
      ->group(kBudget)
      ->type_name("FILE")
      ->check(CheckFile);
  for (const FieldFlag& flag : FurtherFlags()) {
    AddFieldFlag(flag, &flags->request, command, &flags->given);
  }
  command->add_flag("--sources", flags->sources,
                    "say where rules and rates stand, and their limits");
  OnceRead(command, line, flags, RunAllocate, {.check = [flags] { CheckWays(*flags); }});
}

}  // namespace

const Command kAllocateCommand = {"allocate",
                                  "Say how many parameters and tokens a budget of compute buys",
                                  kAllocateHelp, AddAllocateFlags};

}  // namespace sextant::client
