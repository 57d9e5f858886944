#include "client/links_parser.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "client/command_parts.h"
#include "client/enum_names.h"
#include "client/field_flag.h"
#include "client/help_text.h"
#include "client/number.h"

namespace sextant {
namespace {

constexpr FieldFlag kNodeFlags[] = {
    {"--node-count,--nodes", "nodes.node_count", "nodes that take part; default: 1"},
    {"--ranks-per-node,--ranks", "nodes.ranks_per_node", "devices of each; default: all"},
    {"--network", "nodes.network.name", "of sextant nodes, one port a device; between nodes"},
    {"--network-bytes-per-second", "nodes.network.bytes_per_second",
     "line rate of one device, for a network's name, e.g. 25e9"},
    {"--host-copies", "host_copies", "copies from and to pinned host memory, too"}};

std::string CheckExchangeSize(const std::string& text) {
  return std::string(ParseByteCount(text).status().message());
}

void AddLists(CLI::App* command, LinksCommand* links) {
  CLI::Option* operations = command->add_option_function<std::vector<std::string>>(
      "--operation",
      [links](const std::vector<std::string>& names) {
        for (const std::string& name : names) {
          const auto number = EnumNumber(*v1::CollectiveOperation_descriptor(), name);
          links->request.add_operations(static_cast<v1::CollectiveOperation>(number.value_or(0)));
        }
      },
      "repeatable; default: all");
  AddChoices(operations->allow_extra_args(false),
             absl::StrJoin(EnumNames(*v1::CollectiveOperation_descriptor()), "|"));
  command
      ->add_option_function<std::vector<std::string>>(
          "--size",
          [links](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              links->request.add_sizes_bytes(ParseByteCount(text).value_or(0));
            }
          },
          "of the buffer, e.g. 64MiB; repeatable; default: 1KiB-16GiB")
      ->allow_extra_args(false)
      ->type_name("BYTES")
      ->check(Check(CheckExchangeSize));
}

}  // namespace

void AddNodes(CLI::App* app, CommandLine* line) {
  CLI::App* command = AddCommand("nodes", "List kinds of servers, and networks", kNodesHelp, app);
  command->add_option("NAME", line->node_type, "a kind of server; default: all");
  command->add_flag("--sources", line->sources, "show every figure with its source");
  command->final_callback([line] { line->command = Command::kNodes; });
}

void AddLinks(CLI::App* app, CommandLine* line) {
  LinksCommand* links = &line->links;
  CLI::App* command =
      AddCommand("links", "Show how long devices take to exchange bytes", kLinksHelp, app);
  command->add_option("NODE", links->name, "of sextant nodes, or a product that comes in one alone")
      ->required();
  AddLists(command, links);
  for (const FieldFlag& flag : kNodeFlags) AddFieldFlag(flag, &links->request, command);
  command
      ->add_option("--calibration", links->calibration_files,
                   "one of: sextant calibration --save; repeatable, up to 16")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->check(Check(CheckFile));
  command->add_option("--svg", links->svg_file, "also draw bus bandwidth into this file")
      ->type_name("FILE");
  command->final_callback([line] { line->command = Command::kLinks; });
}

}  // namespace sextant
