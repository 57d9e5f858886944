#include "client/report/allocation_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace sextant::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::StartsWith;

std::string ItsName(const std::string& field) { return field; }

template <typename Message>
Message Read(const std::string& text) {
  Message out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &out)) << text;
  return out;
}

// One rule without a law of the loss, outside its range, and one with.
v1::AllocateComputeResponse Sample() {
  return Read<v1::AllocateComputeResponse>(R"pb(
    budget { flops: 5.76e23 flops_per_parameter_token: 6 }
    allocations {
      rule: SCALING_RULE_KAPLAN_2020
      optimum {
        parameter_count: 804260488270
        token_count: 119364000000
        tokens_per_parameter: 0.1484
        training_flops: 5.76e23
        extrapolated: true
      }
      at_ratio {
        model { parameter_count: 21908902300 token_count: 4381780460044 tokens_per_parameter: 200 }
      }
      excludes_embeddings: true
      source_number: 1
      remark: "Beware."
    }
    allocations {
      rule: SCALING_RULE_CHINCHILLA_3
      optimum {
        parameter_count: 32189859151
        token_count: 2982305686663
        tokens_per_parameter: 92.65
        training_flops: 5.76e23
        loss: 1.9304
      }
      off_optimum { parameter_ratio: 0.25 loss_increase: 0.0251 }
      off_optimum { parameter_ratio: 0.5 loss_increase: 0.0061 }
      off_optimum { parameter_ratio: 2 loss_increase: 0.0059 }
      off_optimum { parameter_ratio: 4 loss_increase: 0.0241 }
      serving {
        model {
          parameter_count: 20000000000
          token_count: 5500000000000
          tokens_per_parameter: 275
          training_flops: 6.6e23
          loss: 1.9304
        }
        saved_ratio: 0.125
      }
      at_ratio {
        model {
          parameter_count: 21908902300
          token_count: 4381780460044
          tokens_per_parameter: 200
          loss: 1.9321
        }
        loss_increase: 0.0017
        equal_loss_flops: 5.472e23
      }
      source_number: 2
    }
    sources: "a paper"
    sources: "another"
    sources: "a datasheet"
  )pb");
}

TEST(AllocationText, PutsTheRulesSideBySide) {
  EXPECT_EQ(AllocationText({}, Sample(), ItsName),
            "5.76e+23 FLOP of training\n"
            "rule           parameters   tokens  tokens/N    loss   at N/2    at 2N\n"
            " kaplan-2020       804.3B*  119.4B      0.15       -        -        -\n"
            " chinchilla-3      32.19B   2.982T      92.7  1.9304  +0.0061  +0.0059\n"
            "* extrapolated: outside the range that the rule was fitted on (--sources)\n"
            "kaplan-2020 counts parameters without embeddings\n");
}

TEST(AllocationText, ShowsModelsThatAreTrainedForLonger) {
  v1::AllocateComputeRequest request;
  request.set_served_token_count(2'500'000'000'000);
  request.set_tokens_per_parameter(200);
  const std::string text = AllocationText(request, Sample(), ItsName);
  EXPECT_THAT(text,
              HasSubstr("serving 2.5T   parameters   tokens  tokens/N  training FLOP    saved\n"
                        " chinchilla-3      20.00B   5.500T     275.0        6.6e+23  12.50 %\n"
                        "at 200 tokens/N  parameters   tokens    loss  increase  optimum needs\n"
                        " chinchilla-3        21.91B   4.382T  1.9321   +0.0017        95.00 %\n"));
}

// All rules make the same model of a ratio; asked alone, one without a law says at least that.
TEST(AllocationText, ShowsTheRatioOfARuleWithoutALossAlone) {
  v1::AllocateComputeResponse response = Sample();
  response.mutable_allocations()->RemoveLast();
  v1::AllocateComputeRequest request;
  request.set_tokens_per_parameter(200);
  EXPECT_THAT(AllocationText(request, response, ItsName),
              HasSubstr(" kaplan-2020         21.91B   4.382T     -         -              -\n"));
}

TEST(AllocationText, SaysWhereABudgetOfDevicesComesFrom) {
  v1::AllocateComputeResponse response = Sample();
  *response.mutable_budget() = Read<v1::ComputeBudget>(R"pb(
    flops: 2.3937984e21
    flops_per_parameter_token: 8
    devices {
      device: "h100-sxm"
      device_count: 1024
      duration_seconds: 604800
      basis: ESTIMATE_KIND_TEXTBOOK
      flops_per_second: 989.5e12
      mfu: 0.5
      mfu_basis: MFU_BASIS_REQUEST
      cost_usd: 2688
    }
  )pb");
  *response.add_rates() = Read<v1::RateUsed>(R"pb(
    quantity: "peak_flops_per_second"
    data_type: DATA_TYPE_BF16
    value: 989.5e12
    unit: "FLOP/s"
    source: RATE_SOURCE_REQUEST
    source_number: 3
  )pb");
  EXPECT_THAT(AllocationText({}, response, ItsName),
              StartsWith("2.3938e+21 FLOP of training, 8 a parameter and token: 1,024 x h100-sxm "
                         "for 7.00 days, 2,688.00 USD\n"
                         "  each at 50.00 % MFU of 989.50 TFLOP/s (request, bf16)\nrule "));
  v1::DeviceTime& devices = *response.mutable_budget()->mutable_devices();
  devices.set_mfu_basis(v1::MFU_BASIS_ASSUMED);
  EXPECT_THAT(AllocationText({}, response, ItsName),
              HasSubstr("\n  each at 50.00 % MFU, assumed, of 989.50 TFLOP/s (request, bf16)\n"));
  devices.set_basis(v1::ESTIMATE_KIND_MEASURED_BOUND);
  response.mutable_rates(0)->set_quantity("matmul_flops_per_second");
  response.mutable_rates(0)->set_source(v1::RATE_SOURCE_MEASURED_DEVICE);
  EXPECT_THAT(
      AllocationText({}, response, ItsName),
      HasSubstr("\n  each at 989.50 TFLOP/s as measured (measured-device, bf16), 50.00 % MFU\n"));
  devices.clear_mfu();
  EXPECT_THAT(AllocationText({}, response, ItsName),
              HasSubstr("\n  each at 989.50 TFLOP/s as measured (measured-device, bf16)\n"));
  EXPECT_THAT(AllocationSources(response, ItsName),
              EndsWith("  rate: 989.50 TFLOP/s, measured-device, a datasheet\n"));
}

TEST(AllocationText, NamesSourcesRemarksAndAssumptions) {
  v1::AllocateComputeResponse response = Sample();
  response.add_assumptions()->set_text("Nothing fails.");
  EXPECT_EQ(AllocationSources(response, ItsName),
            "\nSources\n  kaplan-2020: a paper. Beware.\n  chinchilla-3: another.\n"
            "\nAssumptions\n  - Nothing fails.\n");
}

TEST(AllocationText, EndsInWarnings) {
  v1::AllocateComputeResponse response = Sample();
  v1::Note* note = response.add_warnings();
  note->set_text("Give duration.");
  note->add_fields("duration");
  EXPECT_THAT(AllocationText({}, response, [](const std::string&) { return "--duration"; }),
              EndsWith("\nWarnings\n  - Give --duration.\n"));
}

// With all six rules, both questions and devices.
TEST(AllocationText, HasAtMost20LinesOf80Columns) {
  v1::AllocateComputeResponse response = Sample();
  v1::RuleAllocation law = response.allocations(1);
  v1::RuleAllocation power = response.allocations(0);
  response.clear_allocations();
  for (int rule = 1; rule <= v1::ScalingRule_MAX; ++rule) {
    v1::RuleAllocation* answer = response.add_allocations();
    *answer = rule < v1::SCALING_RULE_CHINCHILLA_3 ? power : law;
    answer->set_rule(static_cast<v1::ScalingRule>(rule));
    answer->set_excludes_embeddings(rule == v1::SCALING_RULE_KAPLAN_2020);
    answer->mutable_optimum()->set_extrapolated(true);
  }
  v1::DeviceTime& devices = *response.mutable_budget()->mutable_devices();
  devices.set_device("h100-sxm");
  devices.set_mfu(0.5);
  v1::AllocateComputeRequest request;
  request.set_served_token_count(2'500'000'000'000);
  request.set_tokens_per_parameter(123.45);
  const std::string text = AllocationText(request, response, ItsName);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 19u) << text;
  for (const std::string& line : lines) EXPECT_THAT(line.size(), Le(80u)) << line;
  EXPECT_THAT(text, HasSubstr(" chinchilla-3-unrounded  "));
}

TEST(AllocationText, HasNoNotesWhereAllIsWithinRange) {
  v1::AllocateComputeResponse response = Sample();
  response.mutable_allocations()->DeleteSubrange(0, 1);
  EXPECT_THAT(AllocationText({}, response, ItsName), Not(HasSubstr("extrapolated")));
  EXPECT_THAT(AllocationText({}, response, ItsName), Not(HasSubstr("embeddings")));
}

}  // namespace
}  // namespace sextant::client
