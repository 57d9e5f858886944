#include "client/report/count_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/report/model_flops_text.h"
#include "client/report/text.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename Message>
Message ReadCount(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

constexpr char kParameters[] = R"(
model_name: "toy"
parameters {
  total: 10000 active: 6000 trainable: 9000 embedding: 2000 non_embedding: 8000 padding: 160
  components { name: "token_embedding" parameter_count: 2000 embedding: true
               active_parameter_count: 2000 trainable_parameter_count: 1000 }
  components { name: "routed_experts" parameter_count: 8000 active_parameter_count: 4000
               trainable_parameter_count: 8000 }
}
layer_kinds { part: "decoder" layer_kind: "experts" layer_count: 4 parameters_per_layer: 1500
              active_parameters_per_layer: 750 parameter_count: 6000 }
layer_kinds { part: "multi_token_prediction" layer_kind: "experts" layer_count: 1
              parameters_per_layer: 2000 active_parameters_per_layer: 1000 parameter_count: 2000 }
engine_version: "1.2.3"
)";

TEST(CountText, SaysWhatAModelHas) {
  EXPECT_EQ(CountText({}, ReadCount<v1::CountModelResponse>(kParameters)),
            R"(toy: 10,000 parameters, 6,000 active (60.00 %), 9,000 trained (90.00 %)
  2,000 in embeddings (20.00 %, 160 of them padding of the vocabulary), 8,000 elsewhere

Parameters
  component (* embedding)  parameters     share  active  trained
  token embedding *             2,000   20.00 %   2,000    1,000
  routed experts                8,000   80.00 %   4,000    8,000
  all                          10,000  100.00 %   6,000    9,000

Layers and their parameters
  part                    kind     layers  all of them   each  each, active
  decoder                 experts       4        6,000  1,500           750
  multi token prediction  experts       1        2,000  2,000         1,000

engine 1.2.3
)");
}

TEST(CountText, HasNoColumnForWhatEveryParameterIs) {
  v1::CountModelResponse response = ReadCount<v1::CountModelResponse>(kParameters);
  v1::ParameterCounts* parameters = response.mutable_parameters();
  parameters->set_active(parameters->total());
  parameters->set_trainable(parameters->total());
  parameters->set_padding(0);
  response.mutable_layer_kinds()->DeleteSubrange(1, 1);
  response.mutable_layer_kinds(0)->set_active_parameters_per_layer(1500);
  EXPECT_EQ(CountText({}, response), R"(toy: 10,000 parameters
  2,000 in embeddings (20.00 %), 8,000 elsewhere

Parameters
  component (* embedding)  parameters     share
  token embedding *             2,000   20.00 %
  routed experts                8,000   80.00 %
  all                          10,000  100.00 %

Layers and their parameters
  part     kind     layers  all of them   each
  decoder  experts       4        6,000  1,500

engine 1.2.3
)");
}

TEST(ParametersHeadline, DoesNotRoundWhatIsNotTrainedAway) {
  v1::ParameterCounts parameters;
  parameters.set_total(100000);
  parameters.set_trainable(99996);
  EXPECT_THAT(ParametersHeadline("toy", parameters), HasSubstr("parameters, all but 4 trained\n"));
  parameters.set_trainable(99990);
  EXPECT_THAT(ParametersHeadline("toy", parameters), HasSubstr("99,990 trained (99.99 %)\n"));
}

// A quarter of all is for multi-token prediction; 7 of 100,000 are trained, 0.007 %.
TEST(ParametersHeadline, TellsWhatEachCountIsOf) {
  v1::ParameterCounts parameters;
  parameters.set_total(100000);
  parameters.set_trainable(7);
  parameters.set_embedding(50000);
  parameters.set_non_embedding(50000);
  parameters.set_multi_token_prediction(25000);
  EXPECT_EQ(ParametersHeadline("toy", parameters),
            "toy: 100,000 parameters, 7 trained (< 0.01 %)\n"
            "  of all, 25,000 are for multi-token prediction; 75,000 without\n"
            "  50,000 in embeddings (50.00 %), 50,000 elsewhere\n");
}

// Scores of two kinds of layers, selectively recomputed, and experts with 3/4 of their slots
// empty. A token is the 64th part of a step.
constexpr char kFlops[] = R"(
token_count: 64
components {
  name: "attention_scores" part: "decoder" layer_kind: "global"
  passes { forward: 40 input_gradient: 80 } passes { forward: 20 input_gradient: 40 }
  passes { forward: 22 input_gradient: 44 }
}
components {
  name: "routed_experts" part: "decoder" layer_kind: "global"
  passes { forward: 100 input_gradient: 100 weight_gradient: 100 capacity: 75 }
}
components {
  name: "attention_scores" part: "decoder" layer_kind: "sliding"
  passes { forward: 10 input_gradient: 20 } passes { forward: 5 input_gradient: 10 }
  passes { forward: 6 input_gradient: 12 }
}
masks {
  mask: MASK_CONVENTION_FULL
  passes { forward: 150 input_gradient: 200 weight_gradient: 100 recompute: 50 capacity: 75
           flash_recompute: 25 }
  model_flops_per_token: 450 hardware_flops_per_token: 575
  hardware_flops_per_token_with_flash_recompute: 600 model_flops: 28800 hardware_flops: 36800
}
masks {
  mask: MASK_CONVENTION_CAUSAL
  passes { forward: 125 input_gradient: 150 weight_gradient: 100 recompute: 25 capacity: 75
           flash_recompute: 12.5 }
  model_flops_per_token: 375 hardware_flops_per_token: 475
  hardware_flops_per_token_with_flash_recompute: 487.5 model_flops: 24000 hardware_flops: 30400
}
masks {
  mask: MASK_CONVENTION_CAUSAL_DIAGONAL
  passes { forward: 128 input_gradient: 156 weight_gradient: 100 recompute: 28 capacity: 75
           flash_recompute: 14 }
  model_flops_per_token: 384 hardware_flops_per_token: 487
  hardware_flops_per_token_with_flash_recompute: 501 model_flops: 24576 hardware_flops: 31168
}
)";

// Scores under the causal mask: 25 forward and 50 for their inputs of 375 in all.
TEST(ModelFlopsSection, AddsUpToWhatIsDone) {
  EXPECT_EQ(ModelFlopsSection(ReadCount<v1::ModelFlops>(kFlops)), R"(
FLOPs a token, of a step of 64 tokens
  causal mask        forward  input gradient  weight gradient       sum     share
  attention scores   25 FLOP         50 FLOP           0 FLOP   75 FLOP   20.00 %
  routed experts    100 FLOP        100 FLOP         100 FLOP  300 FLOP   80.00 %
  all               125 FLOP        150 FLOP         100 FLOP  375 FLOP  100.00 %

  FLOP a token, by mask                  full      causal  causal-diagonal
  forward                                 150         125              128
  + gradients of inputs                   200         150              156
  + gradients of weights                  100         100              100
  = model FLOPs                           450         375              384
  + recomputed                             50          25               28
  + capacity of experts                    75          75               75
  = hardware FLOPs                        575         475              487
  + recomputed by fused attention          25        12.5               14
  = hardware FLOPs, that included         600       487.5              501
  model FLOPs of the step          2.8800e+04  2.4000e+04       2.4576e+04
  hardware FLOPs of the step       3.6800e+04  3.0400e+04       3.1168e+04
)");
}

// Hardware FLOPs equal to the model's own are not shown.
TEST(ModelFlopsSection, LeavesOutWhatIsNotDone) {
  v1::ModelFlops flops = ReadCount<v1::ModelFlops>(kFlops);
  for (v1::ModelFlops::Masked& masked : *flops.mutable_masks()) {
    masked.mutable_passes()->clear_recompute();
    masked.mutable_passes()->clear_capacity();
    masked.mutable_passes()->clear_weight_gradient();
    masked.set_hardware_flops(masked.model_flops());
  }
  const std::string text = ModelFlopsSection(flops);
  EXPECT_THAT(text, Not(HasSubstr("= hardware FLOPs  ")));
  EXPECT_THAT(text, Not(HasSubstr("+ recomputed  ")));
  EXPECT_THAT(text, Not(HasSubstr("+ capacity")));
  EXPECT_THAT(text, Not(HasSubstr("+ gradients of weights")));
  EXPECT_THAT(text, Not(HasSubstr("hardware FLOPs of the step")));
  EXPECT_THAT(text, HasSubstr("= hardware FLOPs, that included"));
  flops.clear_components();
  EXPECT_THAT(ModelFlopsSection(flops), Not(HasSubstr("share")));
}

// An encoder looks both ways, whatever the mask is called.
TEST(ModelFlopsSection, NamesTheMaskThatThereIs) {
  v1::ModelFlops flops = ReadCount<v1::ModelFlops>(kFlops);
  EXPECT_THAT(ModelFlopsSection(flops), HasSubstr("\n  causal mask  "));
  for (v1::ModelFlops::Masked& masked : *flops.mutable_masks()) {
    *masked.mutable_passes() = flops.masks(0).passes();
  }
  flops.set_token_count(1);
  EXPECT_THAT(ModelFlopsSection(flops), HasSubstr(", of a step of 1 token\n  full mask  "));
}

constexpr char kConventions[] = R"(
conventions { convention: FLOPS_CONVENTION_SIX_N_TOTAL name: "six_n_total" flops_per_token: 360
              ratio_to_exact: 0.96 differences { name: "attention" flops_per_token: -75 }
              differences { name: "embedding_lookup" flops_per_token: 60 } }
conventions { convention: FLOPS_CONVENTION_KAPLAN_2020 name: "kaplan_2020"
              why_not: "it knows no experts" }
conventions { name: "palm_2022" why_not: "it knows no encoder" }
conventions { name: "chinchilla_2022" why_not: "it knows no experts" }
conventions { name: "megatron_2021_hardware" hardware: true flops_per_token: 500
              ratio_to_exact: 1.0526315789
              differences { name: "attention_mask" flops_per_token: 25 } }
conventions { name: "exact_causal" flops_per_token: 375 ratio_to_exact: 1 }
)";

TEST(ConventionsSection, NamesWhatMakesTheDifference) {
  EXPECT_EQ(ConventionsSection(ReadCount<v1::ModelFlops>(kConventions)), R"(
Conventions (exact: causal mask)
  convention              FLOP a token  to exact  counts    largest difference
  six-n-total                      360  0.9600 x  model     attention -75 FLOP
  megatron-2021-hardware           500  1.0526 x  hardware  attention mask +25 FLOP
  exact-causal                     375  1.0000 x  model     none
  not for this model: kaplan-2020, chinchilla-2022: it knows no experts
  not for this model: palm-2022: it knows no encoder
)");
}

TEST(KaplanSection, GoesRowByRow) {
  v1::ModelFlops flops = ReadCount<v1::ModelFlops>(kConventions);
  EXPECT_THAT(KaplanSection(flops), HasSubstr("\n  not for this model: it knows no experts\n"));
  flops = ReadCount<v1::ModelFlops>(R"(
    kaplan_table { name: "embed" formula: "4 d_model" flops_per_token: 4000
                   difference: "a lookup multiplies nothing" }
    kaplan_table { name: "de-embed" formula: "2 d_model n_vocab" flops_per_token: 100
                   exact_flops_per_token: 100 difference: "none" })");
  EXPECT_EQ(KaplanSection(flops), R"(
Kaplan et al. 2020, table 1 (forward, FLOP a token; counted: causal mask)
  row       by the table  counted  formula; where a difference comes from
  embed            4,000        0  4 d_model; a lookup multiplies nothing
  de-embed           100      100  2 d_model n_vocab
)");
}

TEST(StagesSection, MergesNeighboursAndMarksTheFullest) {
  const auto stages = ReadCount<v1::CountModelResponse>(R"(
    stages { stage: 0 layer_count: 2 parameter_count: 1300 trainable_parameter_count: 1300 }
    stages { stage: 1 layer_count: 2 parameter_count: 1000 trainable_parameter_count: 1000 }
    stages { stage: 2 layer_count: 2 parameter_count: 1000 trainable_parameter_count: 1000 }
    stages { stage: 3 layer_count: 1 parameter_count: 1000 trainable_parameter_count: 1000 }
    stages { stage: 4 layer_count: 1 parameter_count: 1300 trainable_parameter_count: 1300 })");
  EXPECT_EQ(StagesSection(stages.stages()), R"(
Stages: what each GPU holds
  stage  layers  parameters
  0           2       1,300  <- the most
  1-2         2       1,000
  3           1       1,000
  4           1       1,300  <- the most
)");
}

TEST(StagesSection, TellsTrainedExpertsAndCopiesApart) {
  const auto stages = ReadCount<v1::CountModelResponse>(R"(
    stages { stage: 0 layer_count: 2 parameter_count: 1300 trainable_parameter_count: 300
             expert_parameter_count: 800 }
    stages { stage: 1 layer_count: 2 parameter_count: 1200 trainable_parameter_count: 1200
             expert_parameter_count: 800 repeated_parameter_count: 200 })");
  EXPECT_EQ(StagesSection(stages.stages()), R"(
Stages: what each GPU holds
  stage  layers  parameters  trained  in experts  copies
  0           2       1,300      300         800       0  <- the most
  1           2       1,200    1,200         800     200
)");
  // The only stage needs no mark.
  v1::CountModelResponse one = stages;
  one.mutable_stages()->RemoveLast();
  EXPECT_THAT(StagesSection(one.stages()), Not(HasSubstr("<-")));
  EXPECT_EQ(StagesSection({}), "");
}

TEST(TensorsSection, ListsThemAll) {
  auto tensors = ReadCount<v1::CountModelResponse>(R"(
    tensors { name: "input.token_embedding.weight" shape: [32000, 4096] copies: 1 active_copies: 1
              layer_count: 1 trainable_layer_count: 1 parameter_count: 131072000 }
    tensors { name: "decoder.experts.expert.up.weight" shape: [14336, 4096] copies: 8
              active_copies: 2 layer_count: 32 parameter_count: 15032385536 })");
  EXPECT_EQ(TensorsSection(tensors.tensors()), R"(
Tensors (0/32: none of 32 layers' is trained)
      parameters  layers  copies  shape       tensor
     131,072,000       1       1  32000x4096  input.token_embedding.weight
  15,032,385,536    0/32       8  14336x4096  decoder.experts.expert.up.weight
)");
  tensors.mutable_tensors()->RemoveLast();
  EXPECT_EQ(TensorsSection(tensors.tensors()), R"(
Tensors
   parameters  layers  copies  shape       tensor
  131,072,000       1       1  32000x4096  input.token_embedding.weight
)");
}

// The flags choose among what every answer with a step holds.
TEST(CountText, HoldsWhatWasAskedFor) {
  const auto response = ReadCount<v1::CountModelResponse>(
      absl::StrCat(kParameters, "flops {", kFlops, kConventions, "}",
                   "stages { layer_count: 5 parameter_count: 1 }", "tensors { name: 't' }",
                   "ignored_config_fields: 'rope_theta'"));
  const std::string plain = CountText({}, response);
  for (const char* section : {"\nParameters\n", "\nLayers and", "\nFLOPs a token, of a step",
                              "\nStages: ", "\nTensors", "that were not read", "rope_theta"}) {
    EXPECT_THAT(plain, HasSubstr(section));
  }
  EXPECT_THAT(plain, Not(HasSubstr("\nConventions")));
  EXPECT_THAT(plain, Not(HasSubstr("\nKaplan")));
  EXPECT_THAT(CountText({.conventions = true}, response), HasSubstr("\nConventions"));
  EXPECT_THAT(CountText({.kaplan = true}, response), HasSubstr("\nKaplan"));
}

// Whatever a server sends, in every field that holds text, and numbers of any size.
TEST(CountText, NeverPasses99Columns) {
  auto response = ReadCount<v1::CountModelResponse>(
      absl::StrCat(kParameters, "flops {", kFlops, kConventions, "kaplan_table { name: 'n' } }",
                   "stages { layer_count: 5 }", "tensors { name: 't' shape: [1, 2] }"));
  const std::string text = absl::StrCat(std::string(150, 'x'), "\nline ", std::string(150, 'y'));
  const double big = 123456789012345.5;
  response.set_model_name(text);
  response.add_ignored_config_fields(text);
  response.set_engine_version(text);
  response.mutable_parameters()->mutable_components(0)->set_name(text);
  response.mutable_parameters()->mutable_components(0)->set_parameter_count(INT64_MIN);
  response.mutable_layer_kinds(0)->set_layer_kind(text);
  response.mutable_tensors(0)->set_name(text);
  response.mutable_stages(0)->set_parameter_count(INT64_MAX);
  v1::ModelFlops* flops = response.mutable_flops();
  flops->mutable_components(0)->set_name(text);
  flops->mutable_masks(0)->set_model_flops_per_token(big);
  flops->mutable_masks(1)->mutable_passes()->set_forward(big);
  flops->mutable_conventions(0)->set_name(text);
  flops->mutable_conventions(1)->set_why_not(text);
  flops->mutable_conventions(4)->mutable_differences(0)->set_name(text);
  flops->mutable_conventions(4)->set_flops_per_token(big);
  flops->mutable_kaplan_table(0)->set_difference(text);
  flops->mutable_kaplan_table(0)->set_flops_per_token(-big);
  const std::string all = CountText({.conventions = true, .kaplan = true}, response);
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(all, '\n'))) {
    EXPECT_LE(line.size(), kTextWidth) << line;
  }
}

}  // namespace
}  // namespace sextant::client
