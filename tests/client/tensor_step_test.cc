#include "client/flags/tensor_step.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

struct StepCase {
  const char* text;
  const char* step;  // in protobuf's text format
};

TEST(TensorStep, IsRead) {
  const StepCase cases[] = {
      {"select 0 -1", "select { axis: 0 index: -1 }"},
      {"slice 1 0:10:2", "slice { axis: 1 start: 0 stop: 10 step: 2 }"},
      {"slice 1 :8", "slice { axis: 1 stop: 8 }"},
      {"slice -1 2:", "slice { axis: -1 start: 2 }"},
      {"slice 0 :", "slice { axis: 0 }"},
      {"slice 0 ::3", "slice { axis: 0 step: 3 }"},
      {"transpose", "transpose {}"},
      {"transpose 1 2", "transpose { axis_a: 1 axis_b: 2 }"},
      {"  transpose\t0   0 ", "transpose { axis_a: 0 axis_b: 0 }"},
      {"permute 0 2 1", "permute { axes: [0, 2, 1] }"},
      {"view 4 -1", "view { shape: [4, -1] }"},
      {"reshape 2K", "reshape { shape: 2000 }"},
      {"expand -1 8", "expand { shape: [-1, 8] }"},
      {"squeeze", "squeeze {}"},
      {"squeeze 0", "squeeze { axis: 0 }"},
      {"unsqueeze", "unsqueeze {}"},
      {"unsqueeze -1", "unsqueeze { axis: -1 }"},
      {"flatten", "flatten {}"},
      {"flatten 1 -1", "flatten { first: 1 last: -1 }"},
      {"contiguous", "contiguous {}"},
      {"cast fp16", "cast { data_type: DATA_TYPE_FP16 }"},
      {"cast fp8_e4m3", "cast { data_type: DATA_TYPE_FP8_E4M3 }"},
      {"elementwise relu", "elementwise { name: 'relu' }"},
      {"elementwise add 3x1", "elementwise { name: 'add' other { shape: [3, 1] } }"},
      {"elementwise add scalar", "elementwise { name: 'add' other {} }"},
      {"rearrange b s (h d) -> b h s d, h=8",
       "rearrange { expression: 'b s (h d) -> b h s d' sizes { name: 'h' size: 8 } }"},
      {"rearrange ... a -> a ...", "rearrange { expression: '... a -> a ...' }"},
      {"repeat b -> b r c, r=2, c=3",
       "repeat { expression: 'b -> b r c' sizes { name: 'r' size: 2 } "
       "sizes { name: 'c' size: 3 } }"},
      {"repeat b -> b r c,r=2 c=3",
       "repeat { expression: 'b -> b r c' sizes { name: 'r' size: 2 } "
       "sizes { name: 'c' size: 3 } }"},
      {"reduce b s -> b", "reduce { expression: 'b s -> b' }"},
      {"reduce b (s d) -> b, mean, d=4",
       "reduce { expression: 'b (s d) -> b' sizes { name: 'd' size: 4 } "
       "function: REDUCTION_FUNCTION_MEAN }"},
      {"check batch *rest 64", "check_shape { expression: 'batch *rest 64' }"},
      {"index 1 2", "flat_index { index: [1, 2] }"},
  };
  for (const StepCase& c : cases) {
    v1::TensorStep expected;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(c.step, &expected)) << c.step;
    v1::TensorStep step;
    const absl::Status read = ReadTensorStep(c.text, &step);
    EXPECT_TRUE(read.ok()) << c.text << ": " << read;
    EXPECT_TRUE(MessageDifferencer::Equals(step, expected)) << c.text << "\n" << step.DebugString();
  }
}

struct WrongStep {
  const char* text;
  const char* expect;
};

TEST(TensorStep, SaysWhatToWrite) {
  const WrongStep cases[] = {
      {"", "\"\" is not a step; write one of select, slice, transpose"},
      {"selct 0 1", "\"selct 0 1\" is not a step; write one of"},
      {"Transpose", "is not a step"},
      {"select 0", "\"select 0\": write select AXIS INDEX"},
      {"select 0 1 2", "write select AXIS INDEX"},
      {"select a 1", "\"a\" is not a whole number"},
      {"select 0.5 1", "\"0.5\" is not a whole number"},
      {"select 0 1e30", "does not fit in 64 bits"},
      {"slice 1", "write slice AXIS START:STOP[:STEP]"},
      {"slice 1 5", "write slice AXIS START:STOP[:STEP]"},
      {"slice 1 1:2:3:4", "write slice AXIS START:STOP[:STEP]"},
      {"slice 1 a:b", "\"a\" is not a whole number"},
      {"slice x 1:2", "\"x\" is not a whole number"},
      {"transpose 1", "write transpose [AXIS AXIS]"},
      {"permute", "write permute AXIS..."},
      {"view", "write view SIZE..."},
      {"view 4,8", "\"4,8\" ends in"},
      {"reshape x", "write reshape SIZE..."},
      {"expand", "write expand SIZE..."},
      {"squeeze 1 2", "write squeeze [AXIS]"},
      {"unsqueeze 1 2", "write unsqueeze [AXIS]"},
      {"flatten 1", "write flatten [FIRST LAST]"},
      {"contiguous 1", "write contiguous"},
      {"cast", "write cast TYPE"},
      {"cast fp17", "TYPE is one of fp64, fp32"},
      {"elementwise", "write elementwise NAME [SHAPE]"},
      {"elementwise add 3x", "join sizes by x"},
      {"rearrange", "there is no expression"},
      {"rearrange , h=8", "there is no expression"},
      {"rearrange a -> a, h", "\"h\" is not AXIS=SIZE, such as h=8"},
      {"rearrange a -> a, =8", "is not AXIS=SIZE"},
      {"rearrange a -> a, h=", "\"\" is not a whole number"},
      {"repeat a -> a b, b=x", "\"x\" is not a whole number"},
      {"reduce a ->, median", "\"median\" is neither AXIS=SIZE, such as d=64, nor a function: sum"},
      {"check", "write check EXPRESSION"},
      {"index", "write index INDEX..."},
  };
  for (const WrongStep& c : cases) {
    v1::TensorStep step;
    const absl::Status read = ReadTensorStep(c.text, &step);
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_THAT(std::string(read.message()), HasSubstr(c.expect)) << c.text;
  }
}

// Every field of the API's TensorStep can be written.
TEST(TensorStep, KnowsAllOfTheApi) {
  v1::TensorStep step;
  for (const char* text :
       {"select 0 0", "slice 0 :", "transpose", "permute 0", "view 1", "reshape 1", "expand 1",
        "squeeze", "unsqueeze", "flatten", "contiguous", "cast fp16", "elementwise exp",
        "rearrange a -> a", "repeat a -> a", "reduce a ->", "check a", "index 0"}) {
    EXPECT_TRUE(ReadTensorStep(text, &step).ok()) << text;
  }
  std::vector<const google::protobuf::FieldDescriptor*> set;
  step.GetReflection()->ListFields(step, &set);
  EXPECT_EQ(set.size(), static_cast<size_t>(v1::TensorStep::descriptor()->field_count()));
}

}  // namespace
}  // namespace sextant::client
