// `sextant accelerators`, `sextant nodes` and `sextant models`: what is known by name, with
// sources.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/report/hardware_text.h"
#include "client/text/text.h"
#include "sextant/v1/accounting_service.grpc.pb.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kAcceleratorsHelp[] =
    "Examples:\n"
    "  sextant accelerators                    the catalogue as a table\n"
    "  sextant accelerators h100-sxm           one, each figure with its source\n"
    "  sextant accelerators --sources          all, each figure with its source\n"
    "  sextant --output=json accelerators      for a program\n";

struct ListFlags {
  std::string name;  // "" for all
  bool sources = false;
};

int RunAccelerators(const ListFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::ListAcceleratorsRequest request;
  if (!flags.name.empty()) request.set_name(flags.name);
  const bool sources = flags.sources || request.has_name();
  return CallAndShow(line, streams, &v1::HardwareService::Stub::ListAccelerators, request,
                     sources ? AcceleratorSources : AcceleratorTable);
}

constexpr char kNodesHelp[] =
    "Rates are those of one device in one direction. A node's link joins its devices; host is to\n"
    "the host's memory; networks join nodes, one port a device.\n"
    "\n"
    "Examples:\n"
    "  sextant nodes                           kinds of servers and networks as tables\n"
    "  sextant nodes dgx-h100                  one, each figure with its source\n"
    "  sextant nodes --sources                 all, each figure with its source\n"
    "  sextant --output=json nodes             for a program\n";

int RunNodes(const ListFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::ListNodeTypesRequest request;
  if (!flags.name.empty()) request.set_name(flags.name);
  const bool sources = flags.sources || request.has_name();
  return CallAndShow(line, streams, &v1::HardwareService::Stub::ListNodeTypes, request,
                     sources ? NodeTypeSources : NodeTypeTable);
}

constexpr char kModelsHelp[] =
    "A command's MODEL is such a name; or a Hugging Face id, whose organisation and words such as\n"
    "Instruct and Base are passed over (meta-llama/Llama-3.1-70B-Instruct); or a config.json.\n"
    "\n"
    "Examples:\n"
    "  sextant models                          all, by family\n"
    "  sextant models llama 70b                those with both words in their names\n"
    "  sextant models mixtral --sources        where their shapes were read\n"
    "  sextant --output=json models            for a program\n";

struct ModelsFlags {
  std::vector<std::string> words;
  bool sources = false;
};

std::string ModelTable(const v1::ListModelsResponse& response) {
  Table table(0, {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"name", "parameters", "active", "layers", "hidden size"});
  for (const v1::ListModelsResponse::Model& model : response.models()) {
    const bool dense = model.active_parameter_count() == model.parameter_count();
    table.AddRow({model.name(), Grouped(model.parameter_count()),
                  dense ? "" : Grouped(model.active_parameter_count()),
                  absl::StrCat(model.layer_count()), Grouped(model.hidden_size())});
  }
  return table.Text();
}

std::string ModelSources(const v1::ListModelsResponse& response) {
  std::string out;
  for (const v1::ListModelsResponse::Model& model : response.models()) {
    absl::StrAppend(&out, Wrap(absl::StrCat(model.name(), ": "), model.source(), 4));
  }
  return out;
}

int RunModels(const ModelsFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::ListModelsRequest request;
  if (!flags.words.empty()) request.set_pattern(absl::StrJoin(flags.words, " "));
  return CallAndShow(line, streams, &v1::AccountingService::Stub::ListModels, request,
                     flags.sources ? ModelSources : ModelTable);
}

void AddAcceleratorsFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<ListFlags>();
  command->add_option("NAME", flags->name, "a catalogue or product name; default: all");
  command->add_flag("--sources", flags->sources, "show every figure with its source");
  OnceRead(command, line, flags, RunAccelerators);
}

void AddNodesFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<ListFlags>();
  command->add_option("NAME", flags->name, "a kind of server; default: all");
  command->add_flag("--sources", flags->sources, "show every figure with its source");
  OnceRead(command, line, flags, RunNodes);
}

void AddModelsFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<ModelsFlags>();
  command->add_option("WORD", flags->words, "words of their names; default: all models");
  command->add_flag("--sources", flags->sources, "where each shape was read");
  OnceRead(command, line, flags, RunModels);
}

}  // namespace

const Command kAcceleratorsCommand = {"accelerators", "List the accelerators known, with sources",
                                      kAcceleratorsHelp, AddAcceleratorsFlags};
const Command kNodesCommand = {"nodes", "List kinds of servers, and networks", kNodesHelp,
                               AddNodesFlags};
const Command kModelsCommand = {"models", "List the models that are known by name", kModelsHelp,
                                AddModelsFlags};

}  // namespace sextant::client
