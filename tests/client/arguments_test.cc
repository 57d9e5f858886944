// The arguments of operations and of tensors' steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/flags/operation_arguments.h"
#include "client/flags/tensor_step.h"
#include "tests/client/fixture.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

const OperationKind& KindNamed(const std::string& name) {
  for (const OperationKind& kind : OperationKinds()) {
    if (kind.name == name) return kind;
  }
  ADD_FAILURE() << "no kind " << name;
  return OperationKinds().front();
}

TEST(NamedSizes, AreByTheNamesOfTheApi) {
  const auto named = [](const std::string& kind, const std::string& sizes) {
    v1::AnalyzeOperationRequest request;
    EXPECT_TRUE(ReadSizes(KindNamed(kind), sizes, &request).ok()) << sizes;
    return NamedSizes(KindNamed(kind), request);
  };
  EXPECT_EQ(named("matmul", "16Kix8192x32768"), "m=16384, n=8192, k=32768");
  EXPECT_EQ(named("linear", "2x3x4"), "rows=2, input_size=3, output_size=4");
  EXPECT_EQ(named("attention", "1x32x8192x128"),
            "batch=1, heads=32, query_length=8192, head_size=128");
  EXPECT_EQ(named("elementwise", "4x8"), "count=32");
  EXPECT_EQ(named("einsum", "a b -> b a"), "");
}

TEST(ReadSizes, PutsEachIntoItsField) {
  v1::AnalyzeOperationRequest request;
  ASSERT_TRUE(ReadSizes(KindNamed("matmul"), "2x3x4", &request).ok());
  EXPECT_EQ(request.operation().matmul().m(), 2);
  EXPECT_EQ(request.operation().matmul().n(), 3);
  EXPECT_EQ(request.operation().matmul().k(), 4);
  ASSERT_TRUE(ReadSizes(KindNamed("linear"), "8Kix3x4", &request).ok());
  EXPECT_EQ(request.operation().linear().rows(), 8192);
  EXPECT_EQ(request.operation().linear().input_size(), 3);
  EXPECT_EQ(request.operation().linear().output_size(), 4);
  ASSERT_TRUE(ReadSizes(KindNamed("attention"), "1x2x3x4", &request).ok());
  EXPECT_EQ(request.operation().attention().query_length(), 3);
  EXPECT_EQ(request.operation().attention().head_size(), 4);
  ASSERT_TRUE(ReadSizes(KindNamed("experts"), "64Kix7168x2048", &request).ok());
  EXPECT_EQ(request.operation().experts().tokens(), 65536);
  EXPECT_EQ(request.operation().experts().hidden_size(), 7168);
  EXPECT_EQ(request.operation().experts().feed_forward_size(), 2048);
  ASSERT_TRUE(ReadSizes(KindNamed("batched-matmul"), "5x2x3x4", &request).ok());
  EXPECT_EQ(request.operation().batched_matmul().batch(), 5);
  EXPECT_EQ(request.operation().batched_matmul().n(), 3);
  EXPECT_EQ(request.operation().batched_matmul().k(), 4);
  ASSERT_TRUE(ReadSizes(KindNamed("host-copy"), "1GiB", &request).ok());
  EXPECT_EQ(request.operation().host_copy().bytes(), int64_t{1} << 30);
  ASSERT_TRUE(ReadSizes(KindNamed("einsum"), "ab,bc->ac", &request).ok());
  EXPECT_EQ(request.operation().einsum().expression(), "ab,bc->ac");
}

TEST(ReadSizes, MultipliesAShape) {
  v1::AnalyzeOperationRequest request;
  ASSERT_TRUE(ReadSizes(KindNamed("dropout"), "4x8x2", &request).ok());
  EXPECT_EQ(request.operation().dropout().count(), 64);
  ASSERT_TRUE(ReadSizes(KindNamed("fused-chain"), "16M", &request).ok());
  EXPECT_EQ(request.operation().fused_chain().count(), 16000000);
}

TEST(ReadSizes, SaysWhatToWrite) {
  for (const nlohmann::json& c : CasesOf("sizes refused")) {
    v1::AnalyzeOperationRequest request;
    const absl::Status read = ReadSizes(KindNamed(TextIn(c, "kind")), TextIn(c, "text"), &request);
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument) << c;
    EXPECT_THAT(std::string(read.message()), HasSubstr(TextIn(c, "says"))) << c;
  }
}

TEST(AddOperand, TakesAScalarToo) {
  v1::AnalyzeOperationRequest request;
  ASSERT_TRUE(AddOperand("2x3", &request).ok());
  ASSERT_TRUE(AddOperand("scalar", &request).ok());
  ASSERT_EQ(request.operation().einsum().operands_size(), 2);
  EXPECT_EQ(request.operation().einsum().operands(0).shape_size(), 2);
  EXPECT_EQ(request.operation().einsum().operands(1).shape_size(), 0);
  EXPECT_FALSE(AddOperand("2x", &request).ok());
}

TEST(AddChainStep, ReadsAFunctionAndWhatItReads) {
  v1::AnalyzeOperationRequest request;
  ASSERT_TRUE(AddChainStep("exp", &request).ok());
  ASSERT_TRUE(AddChainStep("general:2:8.5", &request).ok());
  const auto& steps = request.operation().fused_chain().steps();
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].function(), v1::ELEMENTWISE_FUNCTION_EXP);
  EXPECT_FALSE(steps[0].has_flops_per_element());
  EXPECT_EQ(steps[1].extra_input_count(), 2);
  EXPECT_EQ(steps[1].flops_per_element(), 8.5);
}

TEST(AddChainStep, SaysWhatToWrite) {
  for (const char* text : {"", "expp", "exp:", "exp:x", "add:1:", "add:1:2:3", ":1"}) {
    v1::AnalyzeOperationRequest request;
    const absl::Status read = AddChainStep(text, &request);
    EXPECT_THAT(std::string(read.message()), HasSubstr("write FUNCTION[:EXTRA_INPUTS[:FLOPS]]"))
        << text;
    EXPECT_EQ(request.operation().fused_chain().steps_size(), 0) << text;
  }
}

TEST(SetDevice, TellsTheServersFromTheCatalogues) {
  for (const char* uuid : {"host", "CPU-0123", "GPU-ab", "MIG-1"}) {
    v1::DeviceSelector device;
    SetDevice(uuid, &device);
    ASSERT_EQ(device.host_devices().devices_size(), 1);
    EXPECT_EQ(device.host_devices().devices(0), uuid);
  }
  v1::DeviceSelector device;
  SetDevice("h100-sxm", &device);
  EXPECT_EQ(device.accelerator(), "h100-sxm");
}

TEST(OperationFieldWords, AreThoseOfTheCommandLine) {
  for (const nlohmann::json& c : CasesOf("field words of op")) {
    EXPECT_EQ(OperationFieldWords(KindNamed(TextIn(c, "kind")), TextIn(c, "field")),
              TextIn(c, "words"))
        << c;
  }
}

TEST(TensorStep, IsRead) {
  for (const nlohmann::json& c : CasesOf("tensor step")) {
    v1::TensorStep step;
    const absl::Status read = ReadTensorStep(TextIn(c, "text"), &step);
    EXPECT_TRUE(read.ok()) << c << ": " << read;
    ExpectSame(step, FromText<v1::TensorStep>(TextIn(c, "step")));
  }
}

TEST(TensorStep, SaysWhatToWrite) {
  for (const nlohmann::json& c : CasesOf("tensor step refused")) {
    v1::TensorStep step;
    const absl::Status read = ReadTensorStep(TextIn(c, "text"), &step);
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument) << c;
    EXPECT_THAT(std::string(read.message()), HasSubstr(TextIn(c, "says"))) << c;
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
