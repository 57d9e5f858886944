// Optimizers' buffers, quantised and fp8 weights, worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/memory/state/state_rules.h"
#include "tests/engine/memory/state/state_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

StateCase WithOptimizer(const OptimizerSpec& optimizer) {
  StateCase c = DenseCase();
  c.state.optimizer = optimizer;
  return c;
}

struct BufferCase {
  OptimizerSpec optimizer;
  int64_t numbers;  // a parameter
};

TEST(StateFormats, OfPlainOptimizers) {
  const BufferCase cases[] = {
      {{.kind = OptimizerKind::kSgd}, 0},     {{.kind = OptimizerKind::kSgdMomentum}, 1},
      {{.kind = OptimizerKind::kAdagrad}, 1}, {{.kind = OptimizerKind::kRmsprop}, 1},
      {{.kind = OptimizerKind::kLion}, 1},    {{.kind = OptimizerKind::kAdam}, 2},
      {{.kind = OptimizerKind::kAdamw}, 2}};
  for (const BufferCase& c : cases) {
    EXPECT_EQ(StateOf(WithOptimizer(c.optimizer)).optimizer_state, Bytes(4 * c.numbers * 3560));
  }
}

// 2 x 960 numbers of matrices in layers; 1600 + 8 + 2 x 16 of the rest.
TEST(StateFormats, OfMuon) {
  StateCase c = WithOptimizer({.kind = OptimizerKind::kMuon});
  EXPECT_EQ(StateOf(c).optimizer_state, Bytes(4 * (1920 + 2 * 1640)));
  auto elements = ElementsByRow(c);
  EXPECT_EQ(elements["feed_forward.up.muon_momentum"], 512);
  EXPECT_EQ(elements.count("feed_forward.up.first_moment"), 0u);
  EXPECT_EQ(elements["norm.final.first_moment"], 8);
}

// up is 32 x 8 in 2 layers: 40 sums each. 2 ranks have 16 rows' each, and all 8 columns'.
TEST(StateFormats, OfAdafactor) {
  StateCase c = WithOptimizer({.kind = OptimizerKind::kAdafactor});
  auto elements = ElementsByRow(c);
  EXPECT_EQ(elements["feed_forward.up.factored_second_moment"], 80);
  EXPECT_EQ(elements["norm.final.factored_second_moment"], 8);
  EXPECT_EQ(elements.count("feed_forward.up.first_moment"), 0u);
  c.state.sharding = {.data_parallel_size = 2, .zero_stage = ZeroStage::kOptimizer};
  c.state.optimizer.adafactor_momentum = true;
  elements = ElementsByRow(c);
  EXPECT_EQ(elements["feed_forward.up.factored_second_moment"], 2 * (16 + 8));
  EXPECT_EQ(elements["norm.final.factored_second_moment"], 4);
  EXPECT_EQ(elements["feed_forward.up.first_moment"], 256);
}

// Blocks of 100: 800 numbers of an embedding have 8 scales, 64 of a query 1 in each of 2 layers.
TEST(StateFormats, OfEightBitAdam) {
  StateCase c = WithOptimizer({.kind = OptimizerKind::kAdam8bit, .quantization_block_size = 100});
  EXPECT_EQ(RowOf(c, "token_embedding.first_moment").size, Bytes(800 + 4 * 8));
  EXPECT_EQ(RowOf(c, "attention.query.second_moment").size, Bytes(2 * (64 + 4)));
  c.state.sharding = {.data_parallel_size = 4, .zero_stage = ZeroStage::kOptimizer};
  EXPECT_EQ(RowOf(c, "token_embedding.first_moment").size, Bytes(200 + 4 * 2));
  EXPECT_EQ(RowOf(c, "attention.query.second_moment").size, Bytes(32 + 2));
}

StateCase Quantized(const FrozenWeightFormat& format) {
  StateCase c = DenseCase();
  c.spec.adapters = AdapterSpec{.rank = 2, .targets = {{"attention", "query"}}};
  c.spec.base_frozen = true;
  c.state.frozen = format;
  return c;
}

// gate is 32 x 8 = 256 numbers, 4 blocks of 64; a norm and the embedding are as they were.
TEST(StateFormats, OfFourBitWeights) {
  const StateCase c = Quantized({.data_type = DataType::kFp4});
  const LedgerRow gate = RowOf(c, "feed_forward.gate.quantized_weight");
  EXPECT_EQ(gate.element_bits, 4);
  EXPECT_EQ(gate.scale_bytes, 16);
  EXPECT_EQ(gate.size, Bytes(2 * (128 + 16)));
  EXPECT_EQ(gate.data_type, DataType::kFp4);
  EXPECT_EQ(RowOf(c, "token_embedding.weight").size, Bytes(1600));
  EXPECT_EQ(RowOf(c, "norm.final.weight").size, Bytes(16));
  EXPECT_EQ(RowOf(c, "attention.query.adapter_up.weight").size, Bytes(2 * 32));
  EXPECT_EQ(StateOf(c).dequantized_weights, Bytes(2 * 256));
}

// Four numbers a byte and a scale a 64, then a scale a 256 of scales: 4 + 0.127 bits. Doubly: per
// 16384 numbers, 8192 bytes, 256 scales of a byte, and 4 bytes.
TEST(StateFormats, OfDoubleQuantizationIsAnEighthOfABit) {
  const FrozenWeightFormat format = {.data_type = DataType::kFp4, .double_quantization = true};
  const TensorShard shard = {.rows = 4096, .columns = 4096, .copies = 1};
  const double bits = 8.0 * static_cast<double>(QuantizedScaleBytes(format, shard)) / (4096 * 4096);
  EXPECT_NEAR(bits, 0.127, 0.0005);
  EXPECT_EQ(QuantizedScaleBytes(format, {.rows = 1, .columns = 65, .copies = 3}), 3 * (2 + 4));
  const FrozenWeightFormat once = {.data_type = DataType::kInt4, .block_size = 32};
  EXPECT_EQ(QuantizedScaleBytes(once, shard), 4 * 4096 * 128);
}

// A scale a row: 32 of gate, 8 of down.
TEST(StateFormats, OfEightBitWeights) {
  StateCase c = Quantized({.data_type = DataType::kInt8});
  EXPECT_EQ(RowOf(c, "feed_forward.gate.quantized_weight").size, Bytes(2 * (256 + 4 * 32)));
  EXPECT_EQ(RowOf(c, "feed_forward.down.quantized_weight").size, Bytes(2 * (256 + 4 * 8)));
  c.state.frozen.block_size = 128;
  EXPECT_EQ(RowOf(c, "feed_forward.gate.quantized_weight").size, Bytes(2 * (256 + 4 * 2)));
}

// 2 of 3 ranks' numbers: 256 x 2 / 3, rounded up, in half bytes; scales 32 / 3.
TEST(StateFormats, OfFourBitWeightsSharedOut) {
  StateCase c = Quantized({.data_type = DataType::kFp4});
  c.state.sharding = {.data_parallel_size = 3, .zero_stage = ZeroStage::kParameters};
  const LedgerRow gate = RowOf(c, "feed_forward.gate.quantized_weight");
  EXPECT_EQ(gate.elements, 171);
  EXPECT_EQ(gate.size, Bytes(86 + 11));
}

// One of two layers is trained: it is in 16 bits.
TEST(StateFormats, OfATrainedLayerAreTheWeights) {
  StateCase c = DenseCase();
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 1, .frozen = true},
                           {.layer_kind = 0, .count = 1}};
  c.state.frozen.data_type = DataType::kInt4;
  EXPECT_EQ(RowOf(c, "attention.query.weight").size, Bytes(128));
  EXPECT_EQ(RowOf(c, "attention.query.quantized_weight").size, Bytes(32 + 4));
}

TEST(StateFormats, OfFp8WeightsWithScales) {
  StateCase c = DenseCase();
  c.spec.hidden_size = 160;
  c.state.precision.weight_data_type = DataType::kFp8E4m3;
  // gate: 32 x 160. One scale; 1 x 2 blocks of 128; 5 blocks of 32 a row.
  const struct {
    WeightScaling scaling;
    int64_t gate;
    int64_t norm;
  } cases[] = {{WeightScaling::kNone, 0, 0},
               {WeightScaling::kTensor, 4, 4},
               {WeightScaling::kBlock, 8, 8},
               {WeightScaling::kMx, 160, 5}};
  for (const auto& s : cases) {
    c.state.weight_scaling = s.scaling;
    EXPECT_EQ(RowOf(c, "feed_forward.gate.weight").size, Bytes(2 * (32 * 160 + s.gate)));
    EXPECT_EQ(RowOf(c, "norm.final.weight").size, Bytes(160 + s.norm));
  }
}

// Beside matrices of layers alone; the transpose of 32 x 8 has 8 rows of one block.
TEST(StateFormats, OfFp8CopiesBesideTheWeights) {
  StateCase c = DenseCase();
  c.state.fp8_weight_copies = 2;
  EXPECT_EQ(StateOf(c).weights, Bytes(2 * 3560 + 2 * 2 * 960));
  c.state.weight_scaling = WeightScaling::kMx;
  EXPECT_EQ(RowOf(c, "feed_forward.gate.fp8_copy").size, Bytes(2 * (256 + 32)));
  EXPECT_EQ(RowOf(c, "feed_forward.gate.fp8_transpose").size, Bytes(2 * (256 + 8)));
  EXPECT_EQ(RowOf(c, "feed_forward.gate.weight").size, Bytes(2 * 512));
  EXPECT_EQ(RowOf(c, "token_embedding.fp8_copy").size, Bytes(0));
  c = ExpertsCase();
  c.state.fp8_weight_copies = 1;
  auto elements = ElementsByRow(c);
  EXPECT_EQ(elements["experts.up.fp8_copy"], 4 * 24 * 2);
  EXPECT_EQ(elements.count("experts.up.fp8_transpose"), 0u);
  EXPECT_EQ(elements["router.weight"], 4 * 8 * 2);
  EXPECT_EQ(elements.count("router.fp8_copy"), 0u);
}

}  // namespace
}  // namespace sextant
