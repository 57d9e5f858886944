// `sextant graph`: accounts for a model's training step, operation by operation.
#include <CLI/CLI.hpp>
#include <memory>

#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/io/message_file.h"
#include "client/report/operation_text.h"
#include "client/text/text.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kGraphHelp[] =
    "FILE is an AnalyzeGraphRequest in proto JSON, or its graph alone (docs/operation_costs.md);\n"
    "- is stdin. Tensors from outside have shapes; operations name their inputs, and sizes that\n"
    "they leave out follow from those. Flags go before what the file says.\n"
    "\n"
    "Examples:\n"
    "  What does a training step cost, and what does it keep?\n"
    "    sextant graph docs/examples/block.json\n"
    "  And with the block computed again?\n"
    "    sextant graph docs/examples/block.json --checkpoint=block\n"
    "  A model written down on the spot:\n"
    "    sextant graph - <<'END'\n"
    "    {\"graph\": {\n"
    "      \"dataType\": \"DATA_TYPE_BF16\",\n"
    "      \"tensors\": [{\"name\": \"x\", \"shape\": [32, 1024]},\n"
    "                  {\"name\": \"w\", \"shape\": [1024, 4096], \"parameter\": true}],\n"
    "      \"operations\": [{\"name\": \"y\", \"operation\": {\"linear\": {}},\n"
    "                      \"inputs\": [\"x\", \"w\"]}]}}\n"
    "    END\n";

struct GraphFlags {
  std::string file;                 // "-" for standard input
  v1::AnalyzeGraphRequest request;  // the flags' additions to the file's
};

constexpr FieldFlag kGraphFlags[] = {
    {"--recompute", "graph.recompute_extent", "how much of a checkpointed segment"},
    {"--data-type,--dtype", "graph.data_type", "of tensors that have none of their own"},
    {"--optimizer", "graph.optimizer", "the rule of the update; default: adamw"},
    {"--master-weights", "graph.master_weights", "keep a copy in the state's format"},
    {"--transcendental-flops", "graph.transcendental_flops",
     "what one exp, log, tanh, erf or root counts; default: 1"},
    {"--steps", "include_steps", "each operation's kernels too"}};

int RunGraph(const GraphFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::AnalyzeGraphRequest request;
  grpc::Status status = ReadMessage(flags.file, streams.in, &request, request.mutable_graph());
  if (!status.ok()) return Fail(status, line, streams);
  request.MergeFrom(flags.request);
  v1::AnalyzeGraphResponse response;
  status = Call(line.server, &v1::AccountingService::Stub::AnalyzeGraph, request, &response);
  if (status.ok() && !response.has_totals()) status = Incomplete("totals");
  if (!status.ok()) return Fail(status, line, streams);
  streams.out << (line.json() ? ProtoJson(response) : Printable(GraphText(response)));
  return kExitFits;
}

}  // namespace

void AddGraph(CLI::App* app, CommandLine* line) {
  const auto flags = std::make_shared<GraphFlags>();
  CLI::App* command = AddCommand(
      "graph", "Account for a model's training step, operation by operation", kGraphHelp, app);
  command->add_option("FILE", flags->file, "an AnalyzeGraphRequest in proto JSON; - is stdin")
      ->type_name("")
      ->check(CheckFileOrInput)
      ->required();
  const auto checkpoint = [flags](const std::string& name) {
    flags->request.mutable_graph()->add_checkpointed_segments(name);
    return absl::OkStatus();
  };
  AddTexts("--checkpoint", "compute this segment again; repeatable", checkpoint, command)
      ->type_name("SEGMENT");
  for (const FieldFlag& flag : kGraphFlags) AddFieldFlag(flag, &flags->request, command);
  command->get_option("--dtype")->option_text("TYPE");  // all names would not fit on its line
  OnceRead(command, line, [flags](const CommandLine& read, const Streams& streams) {
    return RunGraph(*flags, read, streams);
  });
}

}  // namespace sextant::client
