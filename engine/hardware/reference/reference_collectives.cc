#include "engine/hardware/reference/reference_collectives.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

constexpr double kMicrosecondOfCollectives = 1e-6;

using Models = absl::flat_hash_map<absl::string_view, CollectiveModel>;

const Models& AllModels() {
  static const Models* const models = [] {
    auto* out = new Models;
    for (const ReferenceCollectiveTable& table : ReferenceCollectiveTables()) {
      // Tests build each of them; a table that failed would be skipped.
      absl::StatusOr<CollectiveModel> model =
          CollectiveModel::Make(ReferenceCollectivePoints(table.accelerator));
      if (model.ok()) out->emplace(table.accelerator, *std::move(model));
    }
    return out;
  }();
  return *models;
}

}  // namespace

std::vector<ReferenceCollectiveTable> ReferenceCollectiveTables() {
  std::vector<ReferenceCollectiveTable> out(NVLinkCollectives().begin(), NVLinkCollectives().end());
  out.insert(out.end(), PCIeCollectives().begin(), PCIeCollectives().end());
  return out;
}

std::vector<MeasuredCollective> ReferenceCollectivePoints(absl::string_view accelerator) {
  std::vector<MeasuredCollective> out;
  for (const ReferenceCollectiveTable& table : ReferenceCollectiveTables()) {
    if (table.accelerator != accelerator) continue;
    for (const ReferenceCollectiveRow& row : table.rows) {
      for (size_t i = 0; i < row.microseconds.size(); ++i) {
        out.push_back({.op = row.op,
                       .ranks = row.ranks,
                       .bytes = kReferenceCollectiveSizes[i],
                       .seconds = row.microseconds[i] * kMicrosecondOfCollectives});
      }
    }
  }
  return out;
}

absl::string_view ReferenceCollectivesVersion(absl::string_view accelerator) {
  for (const ReferenceCollectiveTable& table : ReferenceCollectiveTables()) {
    if (table.accelerator == accelerator) return table.version;
  }
  return "";
}

std::string ReferenceCollectivesCitation(absl::string_view accelerator) {
  const absl::string_view version = ReferenceCollectivesVersion(accelerator);
  if (version.empty()) return "";
  return absl::StrCat("ai-dynamo/aiconfigurator @095f58a51c4c, NCCL, table ", version, " of ",
                      accelerator);
}

const CollectiveModel* ReferenceCollectives(absl::string_view accelerator) {
  const auto found = AllModels().find(accelerator);
  return found == AllModels().end() ? nullptr : &found->second;
}

}  // namespace sextant
