#include "client/flags/operation_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

struct WrongSizes {
  const char* kind;
  const char* text;
  const char* expect;
};

TEST(ReadSizes, SaysWhatToWrite) {
  const WrongSizes cases[] = {
      {"matmul", "2x3", "\"2x3\" is not MxNxK; write it as in: sextant op matmul 16384x"},
      {"matmul", "2x3x4x5", "is not MxNxK"},
      {"matmul", "", "is not MxNxK"},
      {"matmul", "2xx4", "N of MxNxK: \"\" is not a whole number"},
      {"matmul", "2x3x1e30", "K of MxNxK: \"1e30\" does not fit in 64 bits"},
      {"optimizer-update", "8G", "PARAMETERS: \"8G\" ends in \"G\""},
      {"host-copy", "1G", "BYTES: \"1G\" ends in \"G\""},
      {"dropout", "4xy", "\"4xy\""},
      {"dropout", "-4x-8", "at least 1"},
      {"dropout", "4294967296x4294967296", "than fit in 64 bits"},
  };
  for (const WrongSizes& c : cases) {
    v1::AnalyzeOperationRequest request;
    const absl::Status read = ReadSizes(KindNamed(c.kind), c.text, &request);
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument) << c.kind << " " << c.text;
    EXPECT_THAT(std::string(read.message()), HasSubstr(c.expect)) << c.kind << " " << c.text;
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

struct WordsCase {
  const char* kind;
  const char* field;
  const char* words;
};

TEST(OperationFieldWords, AreThoseOfTheCommandLine) {
  const WordsCase cases[] = {
      {"matmul", "operation.matmul.k", "K of MxNxK"},
      {"dropout", "operation.dropout.count", "SHAPE"},
      {"attention", "operation.attention.kv_heads", "--kv-heads"},
      {"attention", "operation.attention.value_head_size", "--value-head-size"},
      {"elementwise", "operation.elementwise.input_count", "--inputs"},
      {"experts", "operation.experts.expert_count", "--experts"},
      {"experts", "operation.experts.tokens", "TOKENS of TOKENSxHIDDENxFEED_FORWARD"},
      {"einsum", "operation.einsum.expression", "EXPRESSION"},
      {"einsum", "operation.einsum.operands[1].shape[0]", "SHAPE 2"},
      {"einsum", "operation.einsum.operands", "SHAPE..."},
      {"fused-chain", "operation.fused_chain.steps[0].extra_input_count", "STEP 1"},
      {"matmul", "data_types.input", "--dtype"},
      {"matmul", "transcendental_flops", "--transcendental-flops"},
      {"matmul", "device", "--device"},
      {"matmul", "device.device", "--device"},
      {"matmul", "device.device.accelerator", "--device"},
      {"matmul", "device.device.host_devices.devices[0]", "--device"},
      {"matmul", "device.memory_bytes_per_second", "--memory-bandwidth"},
      {"matmul", "device.device.calibrations.calibrations[0].matmuls[3].m",
       "--calibration.matmuls[3].m"},
      {"matmul", "achieved_seconds", "--achieved"},
      {"matmul", "something.new", "something.new"},
      {"einsum", "operation.einsum.operands[x", "operation.einsum.operands[x"},
  };
  for (const WordsCase& c : cases) {
    EXPECT_EQ(OperationFieldWords(KindNamed(c.kind), c.field), c.words) << c.field;
  }
}

}  // namespace
}  // namespace sextant::client
