#include "engine/hardware/reported_names.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/strip.h"
#include "engine/base/near_names.h"
#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

struct ReportedName {
  absl::string_view reported;
  absl::string_view name;  // the catalogue's
};

// What nvidia-smi prints, without the "NVIDIA " before it. From memory, not re-read.
constexpr ReportedName kReportedNames[] = {
    {"Tesla V100-SXM2-16GB", "v100-sxm-16"},
    {"Tesla V100-SXM2-32GB", "v100-sxm-32"},
    {"Tesla V100-SXM3-32GB", "v100-sxm-32"},
    {"A100-SXM4-40GB", "a100-sxm-40"},
    {"A100-SXM4-80GB", "a100-sxm-80"},
    {"A100-PCIE-40GB", "a100-pcie-40"},
    {"A100 80GB PCIe", "a100-pcie-80"},
    {"A800-SXM4-80GB", "a800-sxm-80"},
    {"H100 80GB HBM3", "h100-sxm"},
    {"H100 PCIe", "h100-pcie"},
    {"H100 NVL", "h100-nvl"},
    {"H200", "h200-sxm"},
    {"H200 NVL", "h200-nvl"},
    {"B200", "b200-sxm"},
    {"GB200", "gb200"},
    {"GeForce RTX 3090", "rtx-3090"},
    {"GeForce RTX 4090", "rtx-4090"},
    {"GeForce RTX 5090", "rtx-5090"},
};

const absl::flat_hash_map<std::string, const Accelerator*>& ByReportedName() {
  static const auto* const index = [] {
    auto* out = new absl::flat_hash_map<std::string, const Accelerator*>;
    for (const ReportedName& row : kReportedNames) {
      out->emplace(ComparableName(row.reported), AcceleratorNamed(row.name));
    }
    return out;
  }();
  return *index;
}

}  // namespace

const Accelerator* AcceleratorReportedAs(absl::string_view reported) {
  if (const Accelerator* found = AcceleratorNamed(reported); found != nullptr) return found;
  absl::ConsumePrefix(&reported, "NVIDIA ");
  const auto& index = ByReportedName();
  const auto it = index.find(ComparableName(reported));
  return it == index.end() ? AcceleratorNamed(reported) : it->second;
}

}  // namespace sextant
