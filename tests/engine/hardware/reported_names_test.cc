#include <gtest/gtest.h>

#include <string>

#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

struct ReportedCase {
  const char* reported;
  const char* name;  // "": none
};

TEST(AcceleratorReportedAs, FindsWhatDriversReportAndNothingElse) {
  constexpr ReportedCase kCases[] = {
      {"NVIDIA H100 80GB HBM3", "h100-sxm"},
      {"NVIDIA H100 PCIe", "h100-pcie"},
      {"NVIDIA H200", "h200-sxm"},
      {"NVIDIA A100-SXM4-80GB", "a100-sxm-80"},
      {"NVIDIA A100-SXM4-40GB", "a100-sxm-40"},
      {"Tesla V100-SXM2-32GB", "v100-sxm-32"},
      {"NVIDIA L4", "l4"},             // the vendor's name, then the catalogue's
      {"H100 SXM5 80GB", "h100-sxm"},  // the catalogue's product name
      {"NVIDIA H100", ""},             // which one?
      {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", ""},
      {"AMD EPYC 9654 96-Core Processor", ""},
      {"", ""},
  };
  for (const ReportedCase& c : kCases) {
    const Accelerator* found = AcceleratorReportedAs(c.reported);
    EXPECT_EQ(found == nullptr ? "" : std::string(found->name), c.name) << c.reported;
  }
}

TEST(FindAccelerator, KnowsWhatSchedulersAndPeopleWrite) {
  constexpr ReportedCase kCases[] = {
      {"h100", "h100-sxm"},  // the family
      {"H200", "h200-sxm"},
      {"NVIDIA H100", "h100-sxm"},
      {"NVIDIA-H100-80GB-HBM3", "h100-sxm"},  // Kubernetes' nvidia.com/gpu.product
      {"NVIDIA-A100-SXM4-80GB", "a100-sxm-80"},
      {"nvidia_h100_80gb_hbm3", "h100-sxm"},  // Slurm's AutoDetect=nvml
      {"gpu:h100:8", "h100-sxm"},             // Slurm's --gres
      {"gres:gpu:h200:8", "h200-sxm"},
      {"gres/gpu:nvidia_h100_80gb_hbm3=4", "h100-sxm"},
      {"gpu:a100-sxm-40:2(S:0-1)", "a100-sxm-40"},
      {"a100", ""},  // 40 or 80 GB?
      {"v100", ""},
      {"gpu:8", ""},  // no type
      {"gpu:", ""},
      {"NVIDIA", ""},
      {"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", ""},  // a part of one
  };
  for (const ReportedCase& c : kCases) {
    const auto found = FindAccelerator(c.reported);
    EXPECT_EQ(found.ok() ? std::string((*found)->name) : "", c.name) << c.reported;
  }
  EXPECT_NE(
      std::string(FindAccelerator("a100").status().message()).find("a100-sxm-40, a100-sxm-80"),
      std::string::npos)
      << FindAccelerator("a100").status();
}

}  // namespace
}  // namespace sextant
