// Violations of a graph, reported with their places, all at once; and the largest graphs that are
// answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/operation/graph.h"
#include "tests/engine/operation/graphs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// ids -> e -> h -> y -> loss, in two segments.
GraphSpec Good() {
  GraphSpec spec = {
      .tensors = {IdsOf("ids", {2, 8}), ParameterOf("table", {50, 6}), ParameterOf("w", {6, 4}),
                  ParameterOf("b", {4}), IdsOf("targets", {2, 8}), InputOf("scores", {3, 5})},
      .operations = {Make("e", EmbeddingLookup{}, {"ids", "table"}),
                     Make("h", Linear{}, {"e", "w", "b"}),
                     Make("y", Plain(ElementwiseFunction::kSquare), {"h"}),
                     Make("loss", CrossEntropy{}, {"y", "targets"})},
      .data_type = DataType::kBf16};
  spec.operations[0].segment = spec.operations[1].segment = "first";
  spec.operations[3].segment = "last";
  return spec;
}

using Spoil = std::function<void(GraphSpec&)>;

// Has operation `i` do `work` with `inputs`.
Spoil Work(size_t i, Operation work, std::vector<std::string> inputs) {
  return [=](GraphSpec& spec) {
    spec.operations[i].work = work;
    spec.operations[i].inputs = inputs;
  };
}

Spoil Rearrange(const char* expression, std::vector<AxisSize> sizes = {}) {
  return [=](GraphSpec& spec) { spec.operations[2].work = Rearrangement{expression, sizes}; };
}

// Gives tensor `i` another shape.
Spoil Shaped(size_t i, Shape shape) {
  return [=](GraphSpec& spec) { spec.tensors[i].shape = shape; };
}

struct ErrorCase {
  const char* name;
  Spoil spoil;
  const char* field;
  const char* what;
};

const std::vector<ErrorCase>& ErrorCases() {
  static const auto& cases = *new std::vector<ErrorCase>{
      {"NoOperations", [](auto& s) { s.operations.clear(); }, "operations", "at least one"},
      {"TooManyOperations",
       [](auto& s) { s.operations.resize(kMaxGraphOperations + 1, s.operations[0]); }, "operations",
       "4097: at most 4096"},
      {"TooManyTensors", [](auto& s) { s.tensors.resize(kMaxGraphTensors - 3, s.tensors[0]); },
       "tensors", "8193: at most 8192"},
      {"TooManyInputs",
       [](auto& s) {
         s.operations.resize(257, s.operations[2]);
         for (auto& op : s.operations) op.inputs.assign(64, "h");
       },
       "operations", "16448: at most 16384"},
      {"SixtyFiveOperands",
       Work(2, Plain(ElementwiseFunction::kAdd), std::vector<std::string>(65, "h")),
       "operations[2].inputs", "65: at most 64"},
      {"EmptyName", [](auto& s) { s.tensors[5].name = ""; }, "tensors[5].name", "is required"},
      {"LongName", [](auto& s) { s.tensors[5].name = std::string(65, 'x'); }, "tensors[5].name",
       "has 65 bytes"},
      {"ControlCharacter", [](auto& s) { s.tensors[5].name = "a\tb"; }, "tensors[5].name",
       "control characters"},
      {"NotText", [](auto& s) { s.operations[2].name = "\xC3("; }, "operations[2].name", "UTF-8"},
      {"Surrogate", [](auto& s) { s.operations[2].name = "\xED\xA0\x80"; }, "operations[2].name",
       "UTF-8"},
      {"Overlong", [](auto& s) { s.operations[2].name = "\xE0\x80\x80"; }, "operations[2].name",
       "UTF-8"},
      {"CutOff", [](auto& s) { s.operations[2].segment = "x\xE2\x82"; }, "operations[2].segment",
       "UTF-8"},
      {"TensorTwice", [](auto& s) { s.tensors[5].name = "w"; }, "tensors[5].name",
       "'w' is tensors[2] already"},
      {"OperationTwice", [](auto& s) { s.operations[2].name = "h"; }, "operations[2].name",
       "'h' is operations[1] already"},
      {"MadeTwice", [](auto& s) { s.operations[3].output = "h"; }, "operations[3].output",
       "'h' is made by operations[1] already"},
      {"MadeThoughGiven", [](auto& s) { s.operations[3].output = "w"; }, "operations[3].output",
       "'w' is given, as tensors[2] already"},
      {"MadeLater", [](auto& s) { s.operations[1].inputs[0] = "y"; }, "operations[1].inputs[0]",
       "'y' is made later, by operations[2]"},
      {"MadeByItself", [](auto& s) { s.operations[1].inputs[0] = "h"; }, "operations[1].inputs[0]",
       "'h' is what this operation makes"},
      {"Unknown", [](auto& s) { s.operations[1].inputs[1] = "W"; }, "operations[1].inputs[1]",
       "tensor \"W\" is not known; near names: w"},
      {"NoOutput", [](auto& s) { s.operations[3].output.clear(); }, "operations[3].output",
       "is required: write a name"},
      {"SegmentInterrupted", [](auto& s) { s.operations[3].segment = "first"; },
       "operations[3].segment", "'first' ended with operations[1]"},
      {"SegmentOfNoOperation", [](auto& s) { s.checkpointed_segments = {"frist"}; },
       "checkpointed_segments[0]", "\"frist\" is not known; near names: first"},
      {"SegmentTwice", [](auto& s) { s.checkpointed_segments.assign(2, "first"); },
       "checkpointed_segments[1]", "named before"},
      {"UnknownLoss", [](auto& s) { s.losses = {"los"}; }, "losses[0]", "near names: loss"},
      {"GivenLoss", [](auto& s) { s.losses = {"w"}; }, "losses[0]", "'w' is given"},
      {"LossTwice", [](auto& s) { s.losses.assign(2, "loss"); }, "losses[1]", "named before"},
      {"LossWithoutGradient",
       [](auto& s) {
         for (size_t i = 1; i < 4; ++i) s.tensors[i].frozen = true;
         s.losses = {"loss"};
       },
       "losses[0]", "'loss' needs no gradient"},
      {"ZeroSize", Shaped(2, {6, 0}), "tensors[2].shape[1]", "at least 1, not 0"},
      {"NegativeSize", Shaped(2, {-6, 4}), "tensors[2].shape[0]", "at least 1, not -6"},
      {"TooManyAxes", Shaped(5, Shape(33, 1)), "tensors[5].shape", "33 axes"},
      {"ProductsPastTwoToSixtyThree", Shaped(5, {kMaxDimension, kMaxDimension}), "tensors[5].shape",
       "9.2e18"},
      {"BytesPastTwoToSixtyThree", Shaped(5, {kMaxDimension, int64_t{1} << 22}), "tensors[5].shape",
       "too large"},
      {"TooLargeAParameter", Shaped(1, {kMaxDimension, 2}), "tensors[1].shape", "2^40"},
      {"OddIndexBytes", [](auto& s) { s.tensors[0].index_bytes = 3; }, "tensors[0].index_bytes",
       "not 3"},
      {"IndicesWithAFormat", [](auto& s) { s.tensors[0].data_type = DataType::kInt8; },
       "tensors[0].data_type", "must not be given"},
      {"NoFormat",
       [](auto& s) {
         s.data_type = DataType::kUnspecified;
         for (size_t i = 1; i < 4; ++i) s.tensors[i].data_type = DataType::kFp32;
       },
       "tensors[5].data_type", "is required"},
      {"FrozenInput", [](auto& s) { s.tensors[5].frozen = true; }, "tensors[5].frozen",
       "parameters alone"},
      {"ParameterThatRequiresAGradient", [](auto& s) { s.tensors[2].requires_gradient = true; },
       "tensors[2].requires_gradient", "inputs alone"},
      {"IntegerParameter", [](auto& s) { s.tensors[2].data_type = DataType::kInt8; }, "tensors[2]",
       "mark it frozen"},
      {"IdsThatRequireAGradient", [](auto& s) { s.tensors[0].requires_gradient = true; },
       "tensors[0]", "leave requires_gradient out"},
      {"Transcendental",
       [](auto& s) { s.convention.transcendental = std::numeric_limits<double>::quiet_NaN(); },
       "transcendental_flops", ""},
      {"GivenSizeDiffers", Work(1, Linear{.input_size = 7}, {"e", "w", "b"}),
       "operations[1].operation.linear.input_size",
       "is 7, but inputs[0] 'e' is [2, 8, 6], which makes it 6"},
      {"NegativeGivenSize", Work(1, Linear{.rows = -1}, {"e", "w", "b"}),
       "operations[1].operation.linear.rows", "is -1"},
      {"InputsDiffer", Shaped(2, {5, 4}), "operations[1].inputs[1]",
       "'w' is [5, 4], but [6, any] is wanted next to inputs[0] 'e' is [2, 8, 6]"},
      {"BiasDiffers", Shaped(3, {6}), "operations[1].inputs[2]", "'b' is [6], but [4] is wanted"},
      {"BiasThatIsNotThere", Work(1, Linear{.bias = true}, {"e", "w"}),
       "operations[1].operation.linear.bias", "no third input"},
      {"TooFewInputs", [](auto& s) { s.operations[1].inputs.resize(1); }, "operations[1].inputs",
       "are 1, but it reads x, w"},
      {"NoInputs", [](auto& s) { s.operations[2].inputs.clear(); }, "operations[2].inputs",
       "are 0"},
      {"IdsForNumbers", [](auto& s) { s.operations[1].inputs[0] = "ids"; },
       "operations[1].inputs[0]", "numbers are wanted"},
      {"NumbersForIds", [](auto& s) { s.operations[0].inputs[0] = "scores"; },
       "operations[0].inputs[0]", "ids are wanted"},
      {"TargetsDiffer", Shaped(4, {8, 2}), "operations[3].inputs[1]",
       "'targets' is [8, 2], but [2, 8] is wanted"},
      {"NothingBroadcasts", Work(2, Plain(ElementwiseFunction::kAdd), {"h", "b"}),
       "operations[2].inputs[1]", "nothing broadcasts"},
      {"InputCountDiffers",
       Work(2, Elementwise{.input_count = 3, .function = ElementwiseFunction::kAdd}, {"h", "h"}),
       "operations[2].operation.elementwise.input_count", "is 3, but its inputs say 2"},
      {"ThreeFactors", Work(2, Plain(ElementwiseFunction::kMultiply), {"h", "h", "h"}),
       "operations[2].operation.elementwise.function", "two arrays, not 3"},
      {"ChainOfTwoInputs", Work(2, FusedChain{.steps = {{ElementwiseFunction::kAdd, 1}}}, {"h"}),
       "operations[2].inputs", "are 1"},
      {"MaskAlone",
       [](auto& s) {
         Work(2, Plain(ElementwiseFunction::kScale), {"ids"})(s);
         Work(3, Softmax{}, {"h"})(s);
       },
       "operations[2].inputs", "hold no numbers"},
      {"OddHead",
       [](auto& s) {
         s.tensors[5].shape = {2, 2, 3};
         Work(2, Rotary{}, {"scores"})(s);
         Work(3, Softmax{}, {"h"})(s);
       },
       "operations[2].operation.rotary.head_size", "even"},
      {"Update", Work(2, OptimizerUpdate{}, {"h"}), "operations[2].operation.optimizer_update",
       "a graph's update is its own"},
      {"Experts", Work(2, Experts{}, {"h"}), "operations[2].operation.experts",
       "write each matrix as a batched_matmul"},
      {"Copy", Work(2, HostCopy{}, {"h"}), "operations[2].operation.host_copy",
       "leave the copy out"},
      {"EinsumSizes", Work(2, Einsum{.expression = "b t h, h h -> b t"}, {"h", "w"}),
       "operations[2].operation.einsum.expression", "column"},
      {"EinsumOperandsDiffer",
       Work(2, Einsum{.expression = "b t h -> b t h", .operands = {{2, 8, 5}}}, {"h"}),
       "operations[2].operation.einsum.operands[0]",
       "is [2, 8, 5], but inputs[0] 'h' is [2, 8, 4]"},
      {"RearrangementText", Rearrange("b t h -> b (t"), "operations[2].rearrange.expression",
       "column"},
      {"RearrangementAxes", Rearrange("b t -> t b"), "operations[2].inputs[0]", "axes"},
      {"RearrangementSizes", Rearrange("b t h -> t b h", {{"b", 2}, {"b", 2}}),
       "operations[2].rearrange.sizes[1].name", ""},
      {"RearrangementInputs",
       [](auto& s) {
         s.operations[2].work = Rearrangement{.expression = "b t h -> t b h"};
         s.operations[2].inputs = {"h", "h"};
       },
       "operations[2].inputs", "are 2"},
      {"RearrangementFormat",
       [](auto& s) {
         s.operations[2].work = Rearrangement{.expression = "b t h -> b t h"};
         s.operations[2].output_data_type = DataType::kFp32;
       },
       "operations[2].output_data_type", "keeps its input's"},
      {"ResultOfTooManyAxes",
       [](auto& s) { s.tensors[0].shape = s.tensors[4].shape = Shape(32, 1); },
       "operations[0].output", "33 axes"},
      {"TooManyOrdersOfContraction",
       [](auto& s) {
         const std::vector<std::string> ten(10, "b");
         s.operations.resize(100, s.operations[2]);
         for (size_t i = 4; i < 100; ++i) {
           s.operations[i] =
               Make(absl::StrCat("x", i), Einsum{.expression = "i,i,i,i,i,i,i,i,i,i->"}, ten);
         }
       },
       "operations", "orders of contraction"},
  };
  return cases;
}

class GraphErrors : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(GraphErrors, NameTheirPlace) {
  GraphSpec spec = Good();
  GetParam().spoil(spec);
  const auto analysis = AnalyzeGraph(spec);
  ASSERT_FALSE(analysis.ok());
  const auto violations = FieldViolationsOf(analysis.status());
  ASSERT_EQ(violations.size(), 1u) << analysis.status();
  EXPECT_EQ(violations[0].field, GetParam().field);
  EXPECT_THAT(violations[0].description, HasSubstr(GetParam().what));
  EXPECT_LT(violations[0].description.size(), 300u);
}

INSTANTIATE_TEST_SUITE_P(Table, GraphErrors, ::testing::ValuesIn(ErrorCases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(GraphErrorsTogether, AGoodGraphHasNone) { EXPECT_THAT(AnalyzeGraph(Good()), IsOk()); }

// Parts that depend on something invalid are not reported themselves.
TEST(GraphErrorsTogether, AreAllSaidAtOnce) {
  GraphSpec spec = Good();
  spec.tensors[1].shape = {0, 6};
  spec.tensors[5].index_bytes = 5;
  spec.operations[1].inputs[2] = "bb";
  spec.operations[2].output = "w";
  spec.losses = {"x"};
  spec.checkpointed_segments = {"other"};
  EXPECT_THAT(AnalyzeGraph(spec),
              NamesFields(UnorderedElementsAre("tensors[1].shape[0]", "tensors[5].index_bytes",
                                               "operations[1].inputs[2]", "operations[2].output",
                                               "operations[3].inputs[0]", "losses[0]",
                                               "checkpointed_segments[0]")));
}

// A search for near names looks at all names: only the first few unknown names get one.
TEST(GraphErrorsTogether, SearchOfNearNamesIsBounded) {
  GraphSpec spec = Good();
  for (int i = 0; i < 100; ++i) spec.losses.push_back(absl::StrCat("losses", i));
  const auto analysis = AnalyzeGraph(spec);
  const auto violations = FieldViolationsOf(analysis.status());
  ASSERT_EQ(violations.size(), 100u);
  EXPECT_THAT(violations[0].description, HasSubstr("; all: "));
  EXPECT_THAT(violations[99].description, Not(HasSubstr("; all: ")));
}

TEST(GraphErrorsTogether, SumsThatDoNotFitAreSaid) {
  const int64_t half = int64_t{1} << 30;
  GraphSpec spec = {.tensors = {}, .operations = {}, .data_type = DataType::kFp32};
  spec.tensors.push_back(InputOf("x0", {half, half / 4}));  // 2^58 elements, 2^60 bytes
  for (int i = 1; i <= 9; ++i) {
    spec.tensors.push_back(InputOf(absl::StrCat("x", i), {half, half / 4}));
  }
  spec.tensors.push_back(InputOf("y", {2}));
  spec.operations.push_back(Make("z", Plain(ElementwiseFunction::kSquare), {"y"}));
  const auto analysis = AnalyzeGraph(spec);
  ASSERT_FALSE(analysis.ok());
  EXPECT_THAT(analysis, NamesFields(UnorderedElementsAre("operations")));
}

// Names are any printable text.
TEST(GraphErrorsTogether, NamesMayBeOfAnyLanguage) {
  GraphSpec spec = Good();
  spec.operations[3].name = "потеря — 損失 𝓛 é";
  spec.operations[3].segment = "κ";
  EXPECT_THAT(AnalyzeGraph(spec), IsOk());
}

enum class OrderIs { kGiven, kSearchedFor };

GraphSpec Largest() {
  GraphSpec spec = {.tensors = {InputOf("h0", {2, 2})}, .data_type = DataType::kBf16};
  for (int i = 1; i <= kMaxGraphOperations; ++i) {
    const std::string before = absl::StrCat("h", i - 1);
    if (static_cast<int>(spec.tensors.size()) < kMaxGraphTensors - kMaxGraphOperations) {
      spec.tensors.push_back(ParameterOf(absl::StrCat("w", i), {2, 2}));
    }
    const std::string w =
        absl::StrCat("w", std::min(i, kMaxGraphTensors - kMaxGraphOperations - 1));
    spec.operations.push_back(Make(absl::StrCat("h", i), Linear{}, {before, w}));
    spec.operations.back().segment = absl::StrCat("s", i / 64);
  }
  for (int i = 0; i <= kMaxGraphOperations / 64; ++i) {
    spec.checkpointed_segments.push_back(absl::StrCat("s", i));
  }
  return spec;
}

// The largest graph: its answer has as many rows as it has tensors and operations, and of every
// operation as many steps as alone: nothing grows but with the graph.
TEST(GraphLimits, TheLargestGraphIsAnswered) {
  const GraphSpec spec = Largest();
  const auto analysis = AnalyzeGraph(spec);
  ASSERT_THAT(analysis, IsOk()) << analysis.status();
  EXPECT_EQ(analysis->tensors.size(), static_cast<size_t>(kMaxGraphTensors));
  EXPECT_EQ(analysis->totals.backward.flops().value(), (2 * kMaxGraphOperations - 1) * 16.0);
  EXPECT_EQ(analysis->checkpointed->recompute.flops(), analysis->totals.forward.flops());
  EXPECT_EQ(analysis->memory.saved.size(), static_cast<size_t>(kMaxGraphOperations));
  EXPECT_EQ(analysis->checkpointed->saved.size(),
            static_cast<size_t>(kMaxGraphOperations / 64 + 1));
  size_t savers = 0;
  for (const SavedStorage& saved : analysis->memory.saved) savers += saved.by.size();
  EXPECT_EQ(savers, static_cast<size_t>(kMaxGraphOperations));
}

// A call is asked whether it is to end in each pass over the graph, and ends when it is to.
TEST(GraphLimits, TheLargestGraphEndsWhereItsCallDoes) {
  const GraphSpec spec = Largest();
  int asked = 0;
  const auto count = [&asked] {
    ++asked;
    return absl::OkStatus();
  };
  CallWork whole(count);
  ASSERT_THAT(AnalyzeGraph(spec, whole), IsOk());
  EXPECT_GE(asked, 100);
  for (const int last : {1, asked / 4, asked / 2, asked - 1}) {
    int left = last;
    const auto stop = [&left] {
      return --left > 0 ? absl::OkStatus() : absl::CancelledError("the caller left");
    };
    CallWork work(stop);
    EXPECT_EQ(AnalyzeGraph(spec, work).status(), absl::CancelledError("the caller left")) << last;
    EXPECT_EQ(left, 0);
  }
}

TEST(GraphLimits, SixtyFourOperandsAreTaken) {
  GraphSpec spec = {.tensors = {ParameterOf("w", {3})},
                    .operations = {Make("y", Plain(ElementwiseFunction::kAdd),
                                        std::vector<std::string>(64, "w"))},
                    .data_type = DataType::kFp32};
  const auto analysis = AnalyzeGraph(spec);
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->totals.accumulation.flops(), Flops(63 * 3));
}

// Orders of contraction are searched for: milliseconds for each einsum of ten operands.
TEST(GraphLimits, EinsumsAreAsManyAsTheirSearchesAllow) {
  const auto einsums = [](int count, OrderIs order) {
    GraphSpec spec = {.tensors = {InputOf("x", {2, 2})}, .data_type = DataType::kBf16};
    for (int i = 0; i < count; ++i) {
      Einsum einsum = {.expression = "a b, b c, c d -> a d"};
      einsum.left_to_right = order == OrderIs::kGiven;
      spec.operations.push_back(Make(absl::StrCat("e", i), einsum, {"x", "x", "x"}));
    }
    return AnalyzeGraph(spec);
  };
  EXPECT_THAT(einsums(1600, OrderIs::kSearchedFor), IsOk());
  EXPECT_THAT(FieldViolationsOf(einsums(1700, OrderIs::kSearchedFor).status()),
              ElementsAre(Field(&FieldViolation::field, "operations")));
  EXPECT_THAT(einsums(1700, OrderIs::kGiven), IsOk());
}

}  // namespace
}  // namespace sextant
