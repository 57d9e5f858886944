#include "client/links_request.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace sextant {

std::string LinksFieldWords(const std::string& field) {
  if (field == "nodes.node_type" || field == "nodes.accelerator") return "NODE";
  if (field == "nodes.node_count") return "--node-count";
  if (field == "nodes.ranks_per_node") return "--ranks-per-node";
  if (field == "nodes.network.bytes_per_second") return "--network-bytes-per-second";
  if (absl::StartsWith(field, "nodes.network")) return "--network";
  if (absl::StartsWith(field, "nodes.calibrations")) {
    return absl::StrCat("--calibration", absl::StripPrefix(field, "nodes.calibrations"));
  }
  if (absl::StartsWith(field, "operations")) return "--operation";
  if (absl::StartsWith(field, "sizes_bytes")) return "--size";
  return field;
}

std::string LinksDescription(const std::string& description) {
  return absl::StrReplaceAll(description, {{"HardwareService.ListNodeTypes", "sextant nodes"},
                                           {"bytes_per_second", "--network-bytes-per-second"},
                                           {"nodes.network", "--network"}});
}

}  // namespace sextant
