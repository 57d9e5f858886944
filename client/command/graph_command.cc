// `sextant graph`: accounts for a model's training step, operation by operation.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/given_fields.h"
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

int RunGraph(const GraphFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::AnalyzeGraphRequest request;
  grpc::Status status = ReadMessage(flags.file, streams.in, &request, request.mutable_graph());
  if (!status.ok()) return Fail(status, line, streams);
  request.MergeFrom(flags.request);
  v1::AnalyzeGraphResponse response;
  status = Call(line.server, &v1::AccountingService::Stub::AnalyzeGraph, request, &response);
  if (status.ok() && !response.has_totals()) status = Incomplete("totals");
  if (!status.ok()) return Fail(status, line, streams);
  return Show(line, streams, response, [&] { return GraphText(response); });
}

void AddGraphFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<GraphFlags>();
  AddInput("FILE", &flags->file, "an AnalyzeGraphRequest in proto JSON; - is stdin", command)
      ->type_name("")
      ->required();
  const auto checkpoint = [flags](const std::string& name) {
    flags->request.mutable_graph()->add_checkpointed_segments(name);
    return absl::OkStatus();
  };
  AddTexts("--checkpoint", "compute this segment again; repeatable", checkpoint, command)
      ->type_name("SEGMENT");
  AddFlags(RequestFlags<v1::AnalyzeGraphRequest>(), nullptr, &flags->request, command);
  command->get_option("--dtype")->option_text("TYPE");  // all names would not fit on its line
  OnceRead(command, line, flags, RunGraph);
}

}  // namespace

const Command kGraphCommand = {"graph",
                               "Account for a model's training step, operation by operation",
                               kGraphHelp, AddGraphFlags};

}  // namespace sextant::client
