#include "engine/memory/model_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr WeightCount AllTrained(int64_t parameters) {
  return {parameters, parameters, parameters};
}

ModelState StateOf(int64_t parameters, PrecisionPolicy precision, OptimizerSpec optimizer,
                   const WeightTensors& tensors = {}) {
  const auto state =
      ModelStateOf(AllTrained(parameters), tensors, WithDefaults(precision), optimizer);
  EXPECT_THAT(state, IsOk());
  return state.value_or(ModelState());
}

std::map<std::string, int64_t> TermBytes(const ModelState& state) {
  std::map<std::string, int64_t> out;
  for (const StateTerm& term : state.terms) out[std::string(term.name)] = term.size.value();
  return out;
}

// 2 + 2 + 4 + 4 + 4 bytes a parameter.
TEST(ModelState, OfMixedPrecisionAdamwIsSixteenBytesAParameter) {
  const ModelState state = StateOf(1000, {}, {});
  EXPECT_EQ(state.total, Bytes(16000));
  EXPECT_THAT(TermBytes(state),
              UnorderedElementsAre(Pair("weight", 2000), Pair("gradient", 2000),
                                   Pair("master_weight", 4000), Pair("first_moment", 4000),
                                   Pair("second_moment", 4000)));
}

struct PolicyCase {
  const char* name;
  PrecisionPolicy precision;
  OptimizerSpec optimizer;
  int64_t bytes_per_parameter;
};

TEST(ModelState, IsASumOfDeclaredTerms) {
  const PrecisionPolicy fp32 = {.compute_data_type = DataType::kFp32};
  const PolicyCase cases[] = {
      {"fp32 Adam: 4 + 4 + 8", fp32, {.kind = OptimizerKind::kAdam}, 16},
      {"tf32 is stored as fp32", {.compute_data_type = DataType::kTf32}, {}, 16},
      {"fp32 gradients: 2 + 4 + 4 + 8", {.gradient_data_type = DataType::kFp32}, {}, 18},
      {"no master: 2 + 2 + 8", {.master_weights = false}, {}, 12},
      {"bf16 moments: 2 + 2 + 4 + 4", {.optimizer_data_type = DataType::kBf16}, {}, 12},
      {"fp8 compute stores bf16", {.compute_data_type = DataType::kFp8}, {}, 16},
      {"fp8 weights: 1 + 1 + 4 + 8", {.weight_data_type = DataType::kFp8}, {}, 14},
      {"e4m3 weights alike", {.weight_data_type = DataType::kFp8E4m3}, {}, 14},
      {"block compute stores bf16", {.compute_data_type = DataType::kNvfp4}, {}, 16},
      {"SGD: 2 + 2 + 4", {}, {.kind = OptimizerKind::kSgd}, 8},
      {"momentum", {}, {.kind = OptimizerKind::kSgdMomentum}, 12},
      {"AdaGrad", {}, {.kind = OptimizerKind::kAdagrad}, 12},
      {"RMSProp", {}, {.kind = OptimizerKind::kRmsprop}, 12},
      {"Lion", {}, {.kind = OptimizerKind::kLion}, 12},
  };
  for (const PolicyCase& c : cases) {
    EXPECT_EQ(StateOf(1000, c.precision, c.optimizer).total, Bytes(1000 * c.bytes_per_parameter))
        << c.name;
  }
}

// One matrix of 6 x 4 in each of 2 layers, an embedding of 10 x 4, a norm of 4.
WeightTensors SomeTensors() {
  using C = WeightComponent;
  constexpr WeightRole kWeight = WeightRole::kWeight;
  return {
      {.module = "e",
       .name = "",
       .role = kWeight,
       .component = C::kTokenEmbedding,
       .rows = 10,
       .columns = 4},
      {.module = "f",
       .name = "up",
       .role = kWeight,
       .component = C::kDenseFeedForward,
       .rows = 6,
       .columns = 4,
       .layers = 2,
       .trainable_layers = 2},
      {.module = "n", .name = "", .role = kWeight, .component = C::kNorm, .rows = 4, .columns = 1}};
}
constexpr int64_t kSomeCount = 40 + 48 + 4;

TEST(OptimizerState, OfAdafactorIsRowsPlusColumns) {
  const ModelState plain =
      StateOf(kSomeCount, {}, {.kind = OptimizerKind::kAdafactor}, SomeTensors());
  // (10 + 4) + 2 (6 + 4) + 4 numbers of 4 bytes
  EXPECT_EQ(TermBytes(plain)["factored_second_moment"], 4 * 38);
  const ModelState momentum =
      StateOf(kSomeCount, {}, {.kind = OptimizerKind::kAdafactor, .adafactor_momentum = true},
              SomeTensors());
  EXPECT_EQ(TermBytes(momentum)["first_moment"], 4 * kSomeCount);
}

// Two moments of 2 x 6 numbers for each 6 x 4, and a projection of 4 x 2. A rank above the shorter
// side is that side.
TEST(OptimizerState, OfGaloreIsOfALowRank) {
  const auto terms = [](int64_t rank) {
    return TermBytes(StateOf(kSomeCount, {}, {.kind = OptimizerKind::kGalore, .galore_rank = rank},
                             SomeTensors()));
  };
  EXPECT_EQ(terms(2).at("low_rank_state"), 4 * 2 * (2 * 2 * 6 + 2 * 4));
  EXPECT_EQ(terms(2).at("first_moment"), 4 * 44);
  EXPECT_EQ(terms(2).at("second_moment"), 4 * 44);
  EXPECT_EQ(terms(100).at("low_rank_state"), 4 * 2 * (2 * 4 * 6 + 4 * 4));
}

TEST(OptimizerState, OfAStepInTheBackwardPassHasNoGradients) {
  const auto terms = TermBytes(StateOf(1000, {}, {.in_backward = true}));
  EXPECT_EQ(terms.count("gradient"), 0u);
  EXPECT_EQ(terms.at("first_moment"), 4 * 1000);
}

TEST(OptimizerState, OfMuonSplitsHiddenMatricesFromTheRest) {
  const auto terms =
      TermBytes(StateOf(kSomeCount, {}, {.kind = OptimizerKind::kMuon}, SomeTensors()));
  EXPECT_EQ(terms.at("muon_momentum"), 4 * 48);
  EXPECT_EQ(terms.at("first_moment"), 4 * 44);
  EXPECT_EQ(terms.at("second_moment"), 4 * 44);
}

// 2 moments of 1 byte, and a 4-byte scale for each block of 16: of a tensor's own where
// shapes are known.
TEST(OptimizerState, OfEightBitAdamHasAScaleABlock) {
  const OptimizerSpec adam8 = {.kind = OptimizerKind::kAdam8bit, .quantization_block_size = 16};
  EXPECT_EQ(TermBytes(StateOf(100, {}, adam8)).at("first_moment"), 100 + 4 * 7);
  // blocks: 40 -> 3; 24 -> 2, twice; 4 -> 1
  EXPECT_EQ(TermBytes(StateOf(kSomeCount, {}, adam8, SomeTensors())).at("second_moment"),
            kSomeCount + 4 * 8);
}

// One of the two layers is frozen: its matrix has its weight alone.
TEST(ModelState, OfWhatIsFrozenIsTheWeightAlone) {
  WeightTensors tensors = SomeTensors();
  tensors[1].trainable_layers = 1;
  const WeightCount count = {.total = kSomeCount, .active = kSomeCount, .trainable = 40 + 24 + 4};
  const auto state = [&](OptimizerSpec optimizer) {
    return TermBytes(*ModelStateOf(count, tensors, WithDefaults(PrecisionPolicy()), optimizer));
  };
  auto adam = state({});
  EXPECT_EQ(adam["weight"], 2 * kSomeCount);
  EXPECT_EQ(adam["gradient"], 2 * 68);
  EXPECT_EQ(adam["master_weight"], 4 * 68);
  EXPECT_EQ(adam["second_moment"], 4 * 68);
  EXPECT_EQ(state({.kind = OptimizerKind::kAdafactor})["factored_second_moment"],
            4 * ((10 + 4) + (6 + 4) + 4));
  EXPECT_EQ(state({.kind = OptimizerKind::kMuon})["muon_momentum"], 4 * 24);
}

TEST(ModelState, OfTheLargestModelFitsAnInt64) {
  const PrecisionPolicy widest = {.compute_data_type = DataType::kFp64,
                                  .weight_data_type = DataType::kFp64,
                                  .gradient_data_type = DataType::kFp64,
                                  .optimizer_data_type = DataType::kFp64};
  // 8 + 8 + 16
  EXPECT_EQ(StateOf(kMaxParameterCount, widest, {}).total, Bytes(32 * kMaxParameterCount));
}

TEST(ModelState, ThatOverflowsIsRefused) {
  EXPECT_THAT(ModelStateOf(AllTrained(INT64_MAX / 2), {}, WithDefaults(PrecisionPolicy()), {}),
              NamesFields(ElementsAre("model")));
}

absl::Status Check(const PrecisionPolicy& precision, const OptimizerSpec& optimizer) {
  FieldViolations violations;
  CheckPolicy(precision, optimizer, "t", violations);
  return violations.ToStatus();
}

TEST(CheckPolicy, RefusesFormatsThatDoNotStore) {
  const DataType refused[][3] = {{DataType::kTf32, DataType::kInt8, DataType::kFp4},
                                 {DataType::kMxfp8, DataType::kNvfp4, DataType::kInt4}};
  for (const auto& [weight, gradient, optimizer] : refused) {
    EXPECT_THAT(
        Check({.weight_data_type = weight,
               .gradient_data_type = gradient,
               .optimizer_data_type = optimizer},
              {}),
        NamesFields(ElementsAre("t.precision.weight_data_type", "t.precision.gradient_data_type",
                                "t.precision.optimizer_data_type")));
  }
}

TEST(CheckPolicy, RefusesWhatWouldBeIgnored) {
  EXPECT_THAT(Check({}, {.adafactor_momentum = true, .quantization_block_size = 64}),
              NamesFields(ElementsAre("t.optimizer.quantization_block_size",
                                      "t.optimizer.adafactor_momentum")));
  for (const OptimizerKind kind : {OptimizerKind::kAdam8bit, OptimizerKind::kSgd}) {
    EXPECT_THAT(Check({.optimizer_data_type = DataType::kBf16}, {.kind = kind}),
                NamesFields(ElementsAre("t.precision.optimizer_data_type")));
  }
}

TEST(CheckPolicy, RefusesAMasterNarrowerThanItsWeights) {
  EXPECT_THAT(Check({.weight_data_type = DataType::kFp64, .master_weights = true}, {}),
              NamesFields(ElementsAre("t.precision.master_weights")));
}

TEST(CheckPolicy, RefusesIntegerArithmetic) {
  for (const DataType type : {DataType::kInt8, DataType::kInt4}) {
    EXPECT_THAT(Check({.compute_data_type = type}, {}),
                NamesFields(ElementsAre("t.precision.compute_data_type")));
  }
}

TEST(CheckPolicy, HoldsTheBlockSizeToItsRange) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
    EXPECT_THAT(Check({}, {.kind = OptimizerKind::kAdam8bit, .quantization_block_size = bad}),
                NamesFields(ElementsAre("t.optimizer.quantization_block_size")))
        << bad;
  }
}

}  // namespace
}  // namespace sextant
