#include "engine/tensor/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/tensor/number_format.h"
#include "engine/tensor/shape.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using testing::ElementsAre;

int64_t BytesOf(DataType type, const std::vector<int64_t>& shape) {
  const auto bytes = TensorBytes(type, shape);
  EXPECT_THAT(bytes, IsOk());
  return bytes.ok() ? bytes->value() : -1;
}

TEST(TensorBytes, AreWorkedByHand) {
  struct Case {
    DataType type;
    std::vector<int64_t> shape;
    int64_t bytes;
  };
  const Case cases[] = {
      {DataType::kFp32, {4, 8}, 128},
      {DataType::kFp64, {}, 8},
      {DataType::kTf32, {3}, 12},
      {DataType::kBf16, {2, 3, 5}, 60},
      {DataType::kFp16, {1}, 2},
      {DataType::kFp8, {7}, 7},
      {DataType::kFp8E4m3, {7}, 7},
      {DataType::kFp8E5m2, {7, 2}, 14},
      {DataType::kInt8, {7}, 7},
      {DataType::kInt4, {3, 5}, 3 * 3},  // 5 nibbles: 3 bytes a row
      {DataType::kFp4, {2, 4}, 2 * 2},
      {DataType::kInt4, {}, 1},
      {DataType::kFp6, {2, 4}, 2 * 3},
      {DataType::kFp6, {5}, 4},  // 30 bits
      {DataType::kMxfp8, {2, 64}, 2 * 2 * 33},
      {DataType::kMxfp8, {2, 33}, 2 * 2 * 33},  // one element begins a second block
      {DataType::kMxfp4, {1, 32}, 17},
      {DataType::kMxfp4, {3, 1}, 3 * 17},
      {DataType::kNvfp4, {16}, 9},
      {DataType::kNvfp4, {2, 17}, 2 * 18},
      {DataType::kNvfp4, {}, 9},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(BytesOf(c.type, c.shape), c.bytes)
        << DataTypeName(c.type) << " " << testing::PrintToString(c.shape);
  }
}

// Bit by bit: each row is laid out element by element, block by block.
int64_t CountBytes(const NumberFormat& format, const std::vector<int64_t>& shape) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  int64_t bytes = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t bits = 0;
    int64_t column = 0;
    while (column < shape.back()) {
      const int64_t block = format.block.has_value() ? format.block->block_size : 1;
      for (int64_t i = 0; i < block; ++i, ++column) bits += format.stored_bits;
      if (format.block.has_value()) bits += format.block->scale_bits;
    }
    while (bits % 8 != 0) ++bits;
    bytes += bits / 8;
  }
  return bytes;
}

TEST(TensorBytes, AgreeWithLayingOutEachRow) {
  std::mt19937 random(4);
  std::uniform_int_distribution<int64_t> leading(1, 6);
  std::uniform_int_distribution<int64_t> last(1, 100);
  std::uniform_int_distribution<int> rank(0, 3);
  for (const NumberFormat& format : NumberFormats()) {
    for (int i = 0; i < 100; ++i) {
      std::vector<int64_t> shape(static_cast<size_t>(rank(random)));
      for (int64_t& size : shape) size = leading(random);
      shape.push_back(last(random));
      ASSERT_EQ(BytesOf(format.type, shape), CountBytes(format, shape))
          << DataTypeName(format.type) << " " << testing::PrintToString(shape);
    }
  }
}

// Where rows are whole blocks, storage is StorageBits() an element.
TEST(TensorBytes, OfWholeBlocksAreTheStorageBits) {
  for (const NumberFormat& format : NumberFormats()) {
    EXPECT_EQ(static_cast<double>(BytesOf(format.type, {7, 128})),
              7 * 128 * StorageBits(format) / 8)
        << DataTypeName(format.type);
  }
}

TEST(TensorBytes, RefuseWhatIsNoShape) {
  EXPECT_THAT(TensorBytes(DataType::kFp32, {2, 0, -1}),
              NamesFields(ElementsAre("shape[1]", "shape[2]")));
  const std::vector<int64_t> wide = {1, kMaxDimension + 1, INT64_MAX};
  EXPECT_THAT(TensorBytes(DataType::kFp32, wide), NamesFields(ElementsAre("shape[1]", "shape[2]")));
  EXPECT_THAT(TensorBytes(DataType::kFp32, std::vector<int64_t>(33, 1)),
              NamesFields(ElementsAre("shape")));
  EXPECT_THAT(TensorBytes(DataType::kUnspecified, {1}), NamesFields(ElementsAre("data_type")));
}

TEST(TensorBytes, TakeTheLargestShapesAndRefuseOverflow) {
  EXPECT_EQ(BytesOf(DataType::kFp64, std::vector<int64_t>(32, 1)), 8);
  EXPECT_EQ(BytesOf(DataType::kFp64, {kMaxDimension}), 8 * kMaxDimension);
  EXPECT_EQ(BytesOf(DataType::kInt8, {(int64_t{1} << 23) - 1, kMaxDimension}),
            INT64_MAX - kMaxDimension + 1);
  EXPECT_THAT(TensorBytes(DataType::kInt8, {int64_t{1} << 23, kMaxDimension}),
              NamesFields(ElementsAre("shape")));
  EXPECT_THAT(TensorBytes(DataType::kInt4, std::vector<int64_t>(32, kMaxDimension)),
              NamesFields(ElementsAre("shape")));
}

TEST(TokenIdBytes, AreTwoWhileEveryIdFits) {
  EXPECT_EQ(*TokenIdBytes(1), 2);
  EXPECT_EQ(*TokenIdBytes(65536), 2);  // the last id is 65535
  EXPECT_EQ(*TokenIdBytes(65537), 4);
  EXPECT_EQ(*TokenIdBytes(int64_t{1} << 32), 4);
}

TEST(TokenIdBytes, RefuseVocabulariesThatAreNone) {
  for (const int64_t size : {int64_t{0}, int64_t{-1}, (int64_t{1} << 32) + 1, INT64_MAX}) {
    EXPECT_THAT(TokenIdBytes(size), NamesFields(ElementsAre("vocabulary_size"))) << size;
  }
}

TEST(TokenBytes, AreAProductThatIsChecked) {
  EXPECT_EQ(*TokenBytes(32 * 4096, 8), Bytes(1048576));
  EXPECT_EQ(*TokenBytes(0, 2), Bytes(0));
  EXPECT_EQ(*TokenBytes(INT64_MAX, 1), Bytes(INT64_MAX));
  EXPECT_THAT(TokenBytes(INT64_MAX, 2), NamesFields(ElementsAre("token_count")));
  EXPECT_THAT(TokenBytes(-1, 2), NamesFields(ElementsAre("token_count")));
  for (const int64_t bytes : {int64_t{0}, int64_t{-2}, int64_t{3}, int64_t{16}, INT64_MAX}) {
    EXPECT_THAT(TokenBytes(1, bytes), NamesFields(ElementsAre("bytes_per_id"))) << bytes;
  }
}

}  // namespace
}  // namespace sextant
