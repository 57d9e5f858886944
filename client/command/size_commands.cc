// `sextant size-cluster` and `sextant size-model`: the best number of devices for a run, and the
// largest model that given devices train.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "client/command/plan_request.h"
#include "client/command/run_client.h"
#include "client/flags/given_fields.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "client/report/memory_text.h"
#include "client/report/size_text.h"
#include "client/report/whole_run_text.h"
#include "sextant/v1/field_options.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kSizeClusterHelp[] =
    "The fewest devices, in powers of two within a server and whole servers beyond, on which a "
    "run\n"
    "fits, and that meet --max-duration (or --deadline) and --budget where they are given. With\n"
    "--gbs each number of devices gets the fastest layout that a bounded search finds; without a\n"
    "layout state alone is counted, and the time is the textbook's. docs/sizing.md says which\n"
    "numbers are tried. --objective asks for the numbers that take the least time, money or "
    "energy\n"
    "instead; money is the default where each product has a price. Other flags are those of "
    "sextant plan.\n"
    "The exit code is 0 where some product has an answer; else 9 where one misses the deadline\n"
    "or the budget alone, and 1 where none fits. Waits 120 s, unless --timeout says otherwise.\n"
    "\n"
    "Examples:\n"
    "  Of which product, for it to end within 180 days?\n"
    "    sextant size-cluster llama-3.1-70b --tokens=15T --gbs=1024 --sequence-length=8192 \\\n"
    "        --framework=megatron-lm --max-duration=180d --products=h100-sxm:2.5,h200-sxm:3.2\n"
    "  The cheapest that ends in time:\n"
    "    sextant size-cluster llama-3.1-8b --tokens=1T --gbs=512 --sequence-length=8192 \\\n"
    "        --framework=megatron-lm --max-duration=180d --products=a100-sxm-80:1.5,h100-sxm:2.5 "
    "\\\n"
    "        --objective=least-cost --max-devices=1024\n"
    "  By the textbook, at an MFU of 0.5:\n"
    "    sextant size-cluster --parameters=70B --tokens=15T --accelerator=h100-sxm --mfu=0.5 \\\n"
    "        --max-duration=144d\n";

// A request about sizes: its own flags, and those of a plan for its run.
template <typename Request>
struct SizeFlags {
  PlanRequestFlags plan;
  Request request;
};

constexpr FlagRow kSizeRows[] = {
    {.field = "run", .names = ""},
    {.field = "products", .word = "--products"},
};

// The words for a field of the request, or of the run of an answer's plan.
template <typename Request>
std::string SizeFieldWords(const std::string& field) {
  const std::string words = RequestFieldWords<Request, kSizeRows>(field);
  return words == field ? PlanFieldWords(field) : words;
}

// Fills in the run of a request.
template <typename Request>
grpc::Status Build(const SizeFlags<Request>& flags, const CommandLine& line, const Streams& streams,
                   Request* request) {
  *request = flags.request;
  grpc::Status status = BuildPlanRequest(flags.plan, line.server, streams, request->mutable_run());
  if (status.ok()) StartNow(streams.now(), request->mutable_run());
  return status;
}

template <typename Request>
std::shared_ptr<SizeFlags<Request>> AddSizeFlags(CLI::App* command, CommandLine* line) {
  auto flags = std::make_shared<SizeFlags<Request>>();
  AddRunSources(&flags->plan, line, command);
  AddFlags(RequestFlags<Request, kSizeRows>(), nullptr, &flags->request, command);
  AddRunFlags(&flags->plan, command);
  return flags;
}

// Reads "h100-sxm@dgx-h100:2.5,h200-sxm".
absl::Status ReadProducts(const std::string& text, v1::SizeClusterRequest* request) {
  for (const absl::string_view each : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> priced =
        absl::StrSplit(each, absl::MaxSplits(':', 1));
    const std::pair<std::string, std::string> placed =
        absl::StrSplit(priced.first, absl::MaxSplits('@', 1));
    v1::ClusterProduct* const product = request->add_products();
    product->set_accelerator(placed.first);
    product->set_node_type(placed.second);
    if (priced.second.empty()) continue;
    const absl::StatusOr<double> price = ParseNumber(priced.second);
    if (!price.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", each, "\": ", price.status().message(),
                       "; write NAME[@SERVER][:USD], e.g. h100-sxm@dgx-h100:2.50"));
    }
    product->set_device_hour_price_usd(*price);
  }
  return absl::OkStatus();
}

// That of the nearest product; of a bad request where all were refused.
int ExitCodeFor(const v1::SizeClusterResponse& response) {
  const v1::SizedCluster* const nearest = NearestCluster(response);
  if (nearest == nullptr) return kExitBadRequest;
  return nearest->met() ? kExitFits : ExitCodeOfMiss(nearest->limit());
}

int RunSizeCluster(const SizeFlags<v1::SizeClusterRequest>& flags, const CommandLine& line,
                   const Streams& streams) {
  constexpr auto kWords = SizeFieldWords<v1::SizeClusterRequest>;
  v1::SizeClusterRequest request;
  v1::SizeClusterResponse response;
  grpc::Status status = Build(flags, line, streams, &request);
  if (status.ok()) {
    status = Call(line.server, &v1::PlanningService::Stub::SizeCluster, request, &response);
  }
  if (status.ok() && response.clusters().empty()) status = Incomplete("cluster");
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = kWords, .description = PlanDescriptionWords});
  }
  Show(line, streams, response,
       [&] { return SizeClusterText(request, response, streams.now(), kWords); });
  return ExitCodeFor(response);
}

constexpr char kSizeModelHelp[] =
    "Without a model: the most parameters whose state the devices hold, and whose textbook time\n"
    "meets --max-duration (or --deadline) and --budget where they are given. With a model: the\n"
    "largest of its proportions, its heads, width and depth scaled together (docs/sizing.md). "
    "With\n"
    "--gbs each gets the fastest layout that a bounded search finds. Other flags are those of\n"
    "sextant plan.\n"
    "The exit code is 0 where there is such a model; else 9 where the nearest misses the deadline\n"
    "or the budget alone, and 1 where none fits. Waits 120 s, unless --timeout says otherwise.\n"
    "\n"
    "Examples:\n"
    "  How many parameters do eight GPUs hold?\n"
    "    sextant size-model --accelerator=h100-sxm --devices=8 --tokens=1T\n"
    "  The largest Llama that 512 GPUs train on 20 tokens a parameter in 30 days:\n"
    "    sextant size-model llama-3.1-8b --tokens-per-parameter=20 --max-duration=30d \\\n"
    "        --accelerator=h100-sxm --node-type=dgx-h100 --devices=512 --gbs=1024 \\\n"
    "        --sequence-length=8192 --framework=megatron-lm\n";

int RunSizeModel(const SizeFlags<v1::SizeModelRequest>& flags, const CommandLine& line,
                 const Streams& streams) {
  v1::SizeModelRequest request;
  v1::SizeModelResponse response;
  grpc::Status status = Build(flags, line, streams, &request);
  if (status.ok()) {
    status = Call(line.server, &v1::PlanningService::Stub::SizeModel, request, &response);
  }
  if (status.ok() && response.basis() == v1::SIZE_BASIS_UNSPECIFIED) status = Incomplete("model");
  if (!status.ok()) {
    return Fail(
        status, line, streams,
        {.field = SizeFieldWords<v1::SizeModelRequest>, .description = PlanDescriptionWords});
  }
  Show(line, streams, response, [&] { return SizeModelText(request, response, streams.now()); });
  return response.met() ? kExitFits : ExitCodeOfMiss(response.limit());
}

void AddSizeClusterFlags(CLI::App* command, CommandLine* line) {
  const auto flags = AddSizeFlags<v1::SizeClusterRequest>(command, line);
  AddTexts(
      "--products", "NAME[@SERVER][:USD],... for --accelerator; USD an hour",
      [flags](const std::string& text) { return ReadProducts(text, &flags->request); }, command)
      ->group(v1::SizeClusterRequest::descriptor()->options().GetExtension(v1::flag_group));
  OnceRead(command, line, flags, RunSizeCluster, {.seconds = kManyRunsSeconds});
}

void AddSizeModelFlags(CLI::App* command, CommandLine* line) {
  OnceRead(command, line, AddSizeFlags<v1::SizeModelRequest>(command, line), RunSizeModel,
           {.seconds = kManyRunsSeconds});
}

}  // namespace

const Command kSizeClusterCommand = {"size-cluster", "Find the fewest devices that a run takes",
                                     kSizeClusterHelp, AddSizeClusterFlags};
const Command kSizeModelCommand = {"size-model", "Find the largest model that given devices train",
                                   kSizeModelHelp, AddSizeModelFlags};

}  // namespace sextant::client
