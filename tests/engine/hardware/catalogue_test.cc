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
              AllOf(HasSubstr("a100-sxm-40"), HasSubstr("a100-sxm-80"), HasSubstr("a100-pcie-40")));
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

// MiB as nvidia-smi and rocm-smi print them, of 2^20 bytes.
TEST(DriverFigures, AreExact) {
  EXPECT_EQ(Find("h100-sxm").reported_memory_bytes.value, 85'520'809'984);     // 81,559
  EXPECT_EQ(Find("a100-sxm-80").reported_memory_bytes.value, 85'899'345'920);  // 81,920
  EXPECT_EQ(Find("h200-sxm").reported_memory_bytes.value, 150'754'820'096);    // 143,771
  EXPECT_EQ(Find("b200-sxm").reported_memory_bytes.value, 192'265'846'784);    // 183,359
  EXPECT_EQ(Find("h100-sxm").driver_reserved_bytes.value, 503'316'480);        // 480
  EXPECT_EQ(Find("b200-sxm").driver_reserved_bytes.value, 763'363'328);        // 728
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
  EXPECT_EQ(reported, 32);
}

TEST(DriverFigures, SayWhatWasInferred) {
  const Accelerator& pcie = Find("a100-pcie-80");
  EXPECT_THAT(SourceOf(pcie, pcie.driver_reserved_bytes), HasSubstr("inferred"));
  const Accelerator& h800 = Find("h800-sxm");
  EXPECT_THAT(SourceOf(h800, h800.driver_reserved_bytes), HasSubstr("inferred"));
  EXPECT_FALSE(Find("rtx-5090").reported_memory_bytes);
  EXPECT_EQ(Find("rtx-5090").driver_source, "");
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

}  // namespace
}  // namespace sextant
