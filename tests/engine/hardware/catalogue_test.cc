#include "engine/hardware/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Accelerator& Find(absl::string_view name) {
  const auto found = FindAccelerator(name);
  EXPECT_THAT(found, IsOk()) << name;
  return **found;
}

TEST(FindAccelerator, TakesKeysAndProductNames) {
  EXPECT_EQ(Find("h100-sxm").name, "h100-sxm");
  EXPECT_EQ(Find("H100 SXM").name, "h100-sxm");
  EXPECT_EQ(Find("h100 sxm5 80gb").name, "h100-sxm");
}

TEST(FindAccelerator, NeverGuessesAmongSizesOfMemory) {
  const auto found = FindAccelerator("a100");
  EXPECT_THAT(found, Fails(absl::StatusCode::kNotFound, "GPU_UNKNOWN"));
  EXPECT_THAT(std::string(found.status().message()),
              AllOf(HasSubstr("a100-sxm-40, a100-sxm-80"), HasSubstr("a100-pcie-40")));
}

TEST(FindAccelerator, RefusesNonsense) {
  for (const std::string& name : {std::string(), std::string("---"), std::string(1 << 20, 'h')}) {
    EXPECT_THAT(FindAccelerator(name), Fails(absl::StatusCode::kNotFound, "GPU_UNKNOWN"));
  }
}

// NVIDIA prints 1,978.9 with sparsity for bf16; the dense figure is half of it.
TEST(Peaks, AreDenseAndExact) {
  EXPECT_EQ(PeakFlopsPerSecond(Find("h100-sxm"), DataType::kBf16).value, 989.4e12);
  EXPECT_EQ(PeakFlopsPerSecond(Find("a100-sxm-80"), DataType::kBf16).value, 312e12);
  EXPECT_EQ(PeakFlopsPerSecond(Find("h100-sxm"), DataType::kFp8).value, 1978.9e12);
}

TEST(Peaks, OfFp64AreTheMatrixUnitsWhereTheyTakeIt) {
  EXPECT_EQ(PeakFlopsPerSecond(Find("a100-sxm-80"), DataType::kFp64).value, 19.5e12);
  EXPECT_EQ(PeakFlopsPerSecond(Find("v100-pcie"), DataType::kFp64).value, 7e12);
}

// A matrix product in fp32 on CDNA2 runs on the matrix units, at twice the vector rate.
TEST(Peaks, OfFp32AreTheMatrixUnitsWhereTheyTakeIt) {
  EXPECT_EQ(PeakFlopsPerSecond(Find("mi250x"), DataType::kFp32).value, 95.7e12);
  EXPECT_EQ(PeakFlopsPerSecond(Find("h100-sxm"), DataType::kFp32).value, 66.9e12);
}

TEST(Peaks, AreAbsentWhereTheDatasheetHasNone) {
  EXPECT_FALSE(PeakFlopsPerSecond(Find("v100-pcie"), DataType::kBf16));
  EXPECT_FALSE(PeakFlopsPerSecond(Find("h100-sxm"), DataType::kUnspecified));
}

// fp8 in a datasheet is not always OCP's: CDNA 3's is FNUZ, Gaudi 2's e4m3 ends at 240.
TEST(Peaks, OfMembersAreTheirFamiliesWhereTheDeviceComputesInThem) {
  const double h100 = PeakFlopsPerSecond(Find("h100-sxm"), DataType::kFp8).value;
  EXPECT_EQ(PeakFlopsPerSecond(Find("h100-sxm"), DataType::kFp8E4m3).value, h100);
  EXPECT_EQ(PeakFlopsPerSecond(Find("h100-sxm"), DataType::kFp8E5m2).value, h100);
  EXPECT_FALSE(PeakFlopsPerSecond(Find("h100-sxm"), DataType::kMxfp8));
  EXPECT_FALSE(PeakFlopsPerSecond(Find("h100-sxm"), DataType::kNvfp4));
  EXPECT_TRUE(PeakFlopsPerSecond(Find("mi300x"), DataType::kFp8));
  EXPECT_FALSE(PeakFlopsPerSecond(Find("mi300x"), DataType::kFp8E4m3));
  EXPECT_FALSE(PeakFlopsPerSecond(Find("mi300x"), DataType::kFp8E5m2));
  EXPECT_FALSE(PeakFlopsPerSecond(Find("gaudi2"), DataType::kFp8E4m3));
  EXPECT_TRUE(PeakFlopsPerSecond(Find("gaudi2"), DataType::kFp8E5m2));
  EXPECT_EQ(PeakFlopsPerSecond(Find("b200-sxm"), DataType::kMxfp8).value, 4500e12);
  EXPECT_EQ(PeakFlopsPerSecond(Find("b200-sxm"), DataType::kNvfp4).value, 9000e12);
  EXPECT_EQ(PeakFlopsPerSecond(Find("mi355x"), DataType::kMxfp4).value, 10066e12);
  EXPECT_FALSE(PeakFlopsPerSecond(Find("mi355x"), DataType::kNvfp4));
}

std::vector<std::string> Computing(DataType type) {
  std::vector<std::string> out;
  for (const Accelerator* a : AcceleratorsComputingIn(type)) out.emplace_back(a->name);
  return out;
}

TEST(AcceleratorsComputingIn, AreThoseWithAPeak) {
  using testing::ElementsAre;
  EXPECT_THAT(Computing(DataType::kMxfp8),
              ElementsAre("b200-sxm", "b300-sxm", "gb200", "gb300", "mi350x", "mi355x"));
  EXPECT_THAT(Computing(DataType::kMxfp4), ElementsAre("rtx-5090", "b200-sxm", "b300-sxm", "gb200",
                                                       "gb300", "mi350x", "mi355x"));
  EXPECT_THAT(Computing(DataType::kNvfp4),
              ElementsAre("rtx-5090", "b200-sxm", "b300-sxm", "gb200", "gb300"));
  EXPECT_THAT(Computing(DataType::kInt4), ElementsAre());
  EXPECT_THAT(Computing(DataType::kUnspecified), ElementsAre());
  EXPECT_EQ(Computing(DataType::kFp8).size(), Computing(DataType::kFp8E5m2).size() + 3);
  EXPECT_EQ(Computing(DataType::kFp8).size(), Computing(DataType::kFp8E4m3).size() + 4);
}

TEST(Figures, SayWhereTheyWereRead) {
  const Accelerator& h100 = Find("h100-sxm");
  EXPECT_THAT(SourceOf(h100, h100.memory_bytes), HasSubstr("stas00/ml-engineering"));
  EXPECT_THAT(SourceOf(h100, h100.fp64_flops_per_second), HasSubstr("not re-read"));
  EXPECT_THAT(SourceOf(h100, h100.bf16_flops_per_second),
              AllOf(HasSubstr("not re-read"), HasSubstr("rounds to stas00")));
}

TEST(DriverFigures, AreNearTheNominalOnesAndMostlyUsable) {
  int reported = 0;
  for (const Accelerator& a : Accelerators()) {
    if (!a.reported_memory_bytes) {
      EXPECT_FALSE(a.driver_reserved_bytes) << a.name;
      continue;
    }
    ++reported;
    EXPECT_NEAR(a.reported_memory_bytes.value / a.memory_bytes.value, 1, 0.12) << a.name;
    EXPECT_EQ(a.reported_memory_bytes.source, FigureSource::kDriver) << a.name;
    EXPECT_THAT(SourceOf(a, a.reported_memory_bytes), HasSubstr("driver")) << a.name;
    EXPECT_GE(a.driver_reserved_bytes.value, 0) << a.name;
    EXPECT_LT(a.driver_reserved_bytes.value, 0.03 * a.reported_memory_bytes.value) << a.name;
  }
  EXPECT_EQ(reported, 40);
}

TEST(DriverFigures, SayWhatWasInferred) {
  const Accelerator& pcie = Find("a100-pcie-80");
  EXPECT_THAT(SourceOf(pcie, pcie.driver_reserved_bytes), HasSubstr("inferred"));
  const Accelerator& h800 = Find("h800-sxm");
  EXPECT_THAT(SourceOf(h800, h800.driver_reserved_bytes), HasSubstr("inferred"));
  EXPECT_FALSE(Find("mi350x").reported_memory_bytes);
  EXPECT_EQ(Find("mi350x").driver_source, "");
}

TEST(Figures, EveryRowThatCitesATableNamesIt) {
  for (const Accelerator& a : Accelerators()) {
    for (const DatasheetValue& figure :
         {a.memory_bytes, a.memory_bandwidth_bytes_per_second, a.bf16_flops_per_second,
          a.fp32_flops_per_second, a.link_bandwidth_bytes_per_second, a.pcie_generation,
          a.cache_bytes, a.compute_unit_count, a.boost_clock_hertz, a.thermal_design_power_watts}) {
      if (!figure) continue;
      EXPECT_GT(figure.value, 0) << a.name;
      EXPECT_TRUE(figure.source == FigureSource::kRecall || !a.table_source.empty()) << a.name;
    }
    EXPECT_TRUE(a.memory_bytes) << a.name;
  }
}

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
      {"NVIDIA GH200 480GB", "gh200-96"},
      {"NVIDIA GH200 144G HBM3e", "gh200-144"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
      {"NVIDIA H20", "h20"},
      {"NVIDIA H20-3e", "h20-141"},
      {"NVIDIA L20", "l20"},
      {"NVIDIA A800 80GB PCIe", "a800-pcie-80"},
      {"AMD Instinct MI300X", "mi300x"},
      {"Tesla T4", "t4"},
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
}

}  // namespace
}  // namespace sextant
