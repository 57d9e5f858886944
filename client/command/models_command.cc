// `sextant models`: lists the models that are known by name.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/io/message_file.h"
#include "client/text/text.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant::client {
namespace {

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
  v1::ListModelsResponse response;
  const grpc::Status status =
      Call(line.server, &v1::AccountingService::Stub::ListModels, request, &response);
  if (!status.ok()) return Fail(status, line, streams);
  if (line.json()) {
    streams.out << ProtoJson(response);
  } else {
    streams.out << Printable(flags.sources ? ModelSources(response) : ModelTable(response));
  }
  return kExitFits;
}

}  // namespace

void AddModels(CLI::App* app, CommandLine* line) {
  const auto flags = std::make_shared<ModelsFlags>();
  CLI::App* command =
      AddCommand("models", "List the models that are known by name", kModelsHelp, app);
  command->add_option("WORD", flags->words, "words of their names; default: all models");
  command->add_flag("--sources", flags->sources, "where each shape was read");
  OnceRead(command, line, [flags](const CommandLine& read, const Streams& streams) {
    return RunModels(*flags, read, streams);
  });
}

}  // namespace sextant::client
