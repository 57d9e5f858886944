#include "engine/tensor/number_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "engine/tensor/data_type.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

const NumberFormat& FormatOf(DataType type) { return **FindNumberFormat(type); }

std::vector<std::string> LayoutNames(const NumberFormat& format) {
  std::vector<std::string> out;
  for (const FloatLayout& layout : format.layouts) out.emplace_back(layout.name);
  return out;
}

TEST(NumberFormats, AreAllDataTypesInTheirOrder) {
  int next = static_cast<int>(DataType::kUnspecified) + 1;
  for (const NumberFormat& format : NumberFormats()) {
    EXPECT_EQ(static_cast<int>(format.type), next++);
  }
  EXPECT_EQ(next, static_cast<int>(DataType::kInt4) + 1);
}

TEST(NumberFormats, AllSayWhatTheyAreForAndWhereTheyStand) {
  for (const NumberFormat& format : NumberFormats()) {
    const absl::string_view name = DataTypeName(format.type);
    EXPECT_THAT(std::string(format.role), Not(IsEmpty())) << name;
    EXPECT_THAT(std::string(format.source), Not(IsEmpty())) << name;
    EXPECT_THAT(std::string(format.overflow_reason), Not(IsEmpty())) << name;
    EXPECT_EQ(format.layouts.empty(), format.kind == NumberKind::kInteger) << name;
    EXPECT_EQ(format.block.has_value(), format.kind == NumberKind::kBlockFloat) << name;
    for (const FloatLayout& layout : format.layouts) EXPECT_EQ(layout.bits(), format.bits) << name;
  }
}

TEST(FindNumberFormat, RefusesNone) {
  EXPECT_THAT(FindNumberFormat(DataType::kUnspecified), NamesFields(ElementsAre("data_type")));
  EXPECT_THAT(FindNumberFormat(static_cast<DataType>(99)), NamesFields(ElementsAre("data_type")));
}

// Published: arXiv 2209.05433 table 1; OCP MX v1.0 tables of e2m1, e2m3 and e3m2.
TEST(NumberFormats, HaveThePublishedRanges) {
  struct Case {
    FloatLayout layout;
    double largest;
    double smallest_normal;
    double smallest_subnormal;
    int64_t nan_codes;
  };
  const Case cases[] = {
      {FormatOf(DataType::kFp8E4m3).layouts[0], 448, std::ldexp(1, -6), std::ldexp(1, -9), 2},
      {FormatOf(DataType::kFp8E5m2).layouts[0], 57344, std::ldexp(1, -14), std::ldexp(1, -16), 6},
      {FormatOf(DataType::kFp6).layouts[0], 7.5, 1, 0.125, 0},
      {FormatOf(DataType::kFp6).layouts[1], 28, 0.25, 0.0625, 0},
      {FormatOf(DataType::kFp4).layouts[0], 6, 1, 0.5, 0},
      {FormatOf(DataType::kFp16).layouts[0], 65504, std::ldexp(1, -14), std::ldexp(1, -24), 2046},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(LargestFinite(c.layout), c.largest) << c.layout.name;
    EXPECT_EQ(SmallestNormal(c.layout), c.smallest_normal) << c.layout.name;
    EXPECT_EQ(SmallestSubnormal(c.layout), c.smallest_subnormal) << c.layout.name;
    EXPECT_EQ(NanCodeCount(c.layout), c.nan_codes) << c.layout.name;
  }
}

TEST(NumberFormats, OfFamiliesAreTheirMembers) {
  EXPECT_THAT(LayoutNames(FormatOf(DataType::kFp8)), ElementsAre("e4m3", "e5m2"));
  EXPECT_THAT(LayoutNames(FormatOf(DataType::kFp6)), ElementsAre("e2m3", "e3m2"));
  EXPECT_THAT(LayoutNames(FormatOf(DataType::kFp4)), ElementsAre("e2m1"));
}

TEST(NumberFormats, OfIntegersAreTwosComplement) {
  EXPECT_EQ(LargestInteger(FormatOf(DataType::kInt8)), 127);
  EXPECT_EQ(LowestInteger(FormatOf(DataType::kInt8)), -128);
  EXPECT_EQ(LargestInteger(FormatOf(DataType::kInt4)), 7);
  EXPECT_EQ(LowestInteger(FormatOf(DataType::kInt4)), -8);
}

TEST(StorageBits, CountEachElementsShareOfItsScale) {
  EXPECT_EQ(StorageBits(FormatOf(DataType::kMxfp8)), 8 + 8.0 / 32);
  EXPECT_EQ(StorageBits(FormatOf(DataType::kMxfp4)), 4 + 8.0 / 32);
  EXPECT_EQ(StorageBits(FormatOf(DataType::kNvfp4)), 4 + 8.0 / 16);
  EXPECT_EQ(StorageBits(FormatOf(DataType::kTf32)), 32);
  EXPECT_EQ(StorageBits(FormatOf(DataType::kInt4)), 4);
  EXPECT_EQ(StorageBits(FormatOf(DataType::kFp64)), 64);
}

TEST(BlockScale, HasItsLayoutsRange) {
  const BlockScale power = *FormatOf(DataType::kMxfp4).block;
  EXPECT_EQ(power.smallest_scale, std::ldexp(1, -127));
  EXPECT_EQ(power.largest_scale, std::ldexp(1, 127));
  EXPECT_FALSE(power.has_tensor_scale);
  const BlockScale e4m3 = *FormatOf(DataType::kNvfp4).block;
  EXPECT_EQ(e4m3.smallest_scale, std::ldexp(1, -9));
  EXPECT_EQ(e4m3.largest_scale, 448);
  EXPECT_TRUE(e4m3.has_tensor_scale);
}

TEST(DataType, StorageHasItsWidthInBytes) {
  EXPECT_EQ(StorageBytes(DataType::kFp64), 8);
  EXPECT_EQ(StorageBytes(DataType::kFp32), 4);
  EXPECT_EQ(StorageBytes(DataType::kFp16), 2);
  EXPECT_EQ(StorageBytes(DataType::kBf16), 2);
  EXPECT_EQ(StorageBytes(DataType::kFp8), 1);
  EXPECT_EQ(StorageBytes(DataType::kFp8E4m3), 1);
  EXPECT_EQ(StorageBytes(DataType::kFp8E5m2), 1);
}

TEST(DataType, ModesIntegersBlocksAndSubByteFormatsAreNotStorage) {
  for (const DataType type :
       {DataType::kTf32, DataType::kInt8, DataType::kFp6, DataType::kFp4, DataType::kMxfp8,
        DataType::kMxfp4, DataType::kNvfp4, DataType::kInt4, DataType::kUnspecified}) {
    EXPECT_FALSE(IsStorageType(type)) << DataTypeName(type);
    EXPECT_EQ(StorageBytes(type), 0);
  }
}

TEST(DataType, IsNamedAsUsersSpellIt) {
  EXPECT_EQ(DataTypeName(DataType::kBf16), "bf16");
  EXPECT_EQ(DataTypeName(DataType::kFp8E4m3), "fp8_e4m3");
  EXPECT_EQ(DataTypeName(DataType::kNvfp4), "nvfp4");
  EXPECT_EQ(DataTypeName(DataType::kUnspecified), "unspecified");
}

}  // namespace
}  // namespace sextant
