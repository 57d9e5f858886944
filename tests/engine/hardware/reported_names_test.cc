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

}  // namespace
}  // namespace sextant
