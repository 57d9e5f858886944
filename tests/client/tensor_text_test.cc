#include "client/report/tensor_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename Message>
Message Read(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

constexpr char kChain[] = R"(
tensor {
  shape: [4, 8] strides: [8, 1] storage_elements: 32 data_type: DATA_TYPE_BF16 element_count: 32
  size_bytes: 64 is_contiguous: true
}
steps {
  name: "transpose" is_view: true reason: "a view"
  tensor { shape: [8, 4] strides: [1, 8] }
}
steps {
  name: "contiguous" allocated_bytes: 2048 reason: "a copy"
  tensor { shape: [8, 4] strides: [4, 1] }
}
steps {
  name: "reduce" allocated_bytes: 16 reason: "a new tensor" read_bytes: 64 written_bytes: 16
  flops: 24
  axes { name: "b" size: 8 }
  tensor { shape: [8] strides: [1] }
}
steps {
  name: "check_shape" is_view: true reason: "axis 0 has to be 4, and is 8"
  tensor { shape: [8] strides: [1] }
  check {
    mismatches: ["axis 0 has to be 4, and is 8", "another"]
    sizes { name: "batch" size: 8 } several { name: "rest" sizes: [8, 4] }
  }
}
steps {
  name: "check_shape" is_view: true reason: "as declared"
  tensor { shape: [8] strides: [1] }
  check { matches: true }
}
steps {
  name: "flat_index" is_view: true reason: "element 3" storage_position: 3
  tensor { shape: [8] strides: [1] }
}
allocated_bytes: 2064
engine_version: "0.1.0"
)";

TEST(TensorText, IsAsWorkedByHand) {
  EXPECT_EQ(TensorText(Read<v1::AnalyzeTensorResponse>(kChain),
                       {"transpose 0 1", "contiguous", "reduce b s -> b", "check 4 *rest",
                        "check batch", "index 3"}),
            R"([4, 8] bf16: 32 elements, 64 bytes, strides [8, 1], contiguous

     step         result    allocates  shape   strides
  1  transpose    view        0 bytes  [8, 4]  [1, 8]
      transpose 0 1: a view
  2  contiguous   copy       2.00 KiB  [8, 4]  [4, 1]
      contiguous: a copy
  3  reduce       copy       16 bytes  [8]     [1]
      reduce b s -> b: a new tensor
      b = 8; reads 64 bytes, writes 16 bytes; 24 FLOP
  4  check_shape  MISMATCH    0 bytes  [8]     [1]
      check 4 *rest: axis 0 has to be 4, and is 8
      - another
      so far: batch = 8, *rest = [8, 4]
  5  check_shape  matches     0 bytes  [8]     [1]
      check batch: as declared
  6  flat_index   found       0 bytes  [8]     [1]
      index 3: element 3

Allocated: 2,064 bytes (2.02 KiB)

engine 0.1.0
)");
}

TEST(TensorText, SaysWhereInItsStorageAViewIs) {
  const std::string text = TensorText(
      Read<v1::AnalyzeTensorResponse>(
          "tensor { shape: 2 strides: 3 offset_elements: 5 storage_elements: 32 "
          "data_type: DATA_TYPE_FP32 element_count: 2 size_bytes: 8 } engine_version: '0.1.0'"),
      {});
  EXPECT_EQ(text,
            "[2] fp32: 2 elements of a storage of 32 elements, 8 bytes, strides [3], from storage "
            "position 5,\n  not contiguous\n\nengine 0.1.0\n");
  EXPECT_THAT(text, Not(HasSubstr("Allocated")));
}

TEST(TokensText, SaysHowLargeAndHowFast) {
  v1::DescribeTokensRequest request;
  request.set_token_count(15'000'000'000'000);
  request.set_tokens_per_second(9e6);
  v1::DescribeTokensResponse response;
  response.set_bytes_per_id(4);
  response.set_size_bytes(60'000'000'000'000);
  response.set_engine_version("0.1.0");
  EXPECT_EQ(TokensText(request, response),
            "15,000,000,000,000 tokens at 4 bytes an id: 60,000,000,000,000 bytes (55,879.35 GiB)\n"
            "\nengine 0.1.0\n");
  response.set_bytes_per_second(36e6);
  EXPECT_THAT(TokensText(request, response), HasSubstr("  read at 9,000,000 tokens/s: 36.00 MB/s"));
}

}  // namespace
}  // namespace sextant::client
