#include "engine/tensor/data_type.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

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
