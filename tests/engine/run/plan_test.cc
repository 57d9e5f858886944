#include "engine/run/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/hardware/catalogue.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

RunSpec Llama70bRun() {
  RunSpec run = OnH100s(1024, 15'000'000'000'000);
  run.model.preset = "llama-3.1-70b";
  return run;
}

TEST(PlanRun, OfLlama70bByHand) {
  RunSpec run = Llama70bRun();
  run.options.assumed_mfu = 0.5;
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.model_name, "llama-3.1-70b");
  EXPECT_EQ(plan.parameters.all.total, 70'553'706'496);
  // 2 x 128256 x 8192 of embedding and head
  EXPECT_EQ(plan.parameters.embedding, 2'101'346'304);
  ASSERT_THAT(plan.flops.counts, SizeIs(2));
  EXPECT_DOUBLE_EQ(plan.flops.counts[0].run.value(), 6.0 * 70553706496.0 * 15e12);
  EXPECT_DOUBLE_EQ(plan.flops.counts[1].run.value(), 6.0 * (70553706496.0 - 2101346304.0) * 15e12);
  EXPECT_EQ(plan.state.total, Bytes(16 * 70'553'706'496));
  // 1128859303936 / 1024 = 1102401664
  EXPECT_EQ(plan.fit.per_device, Bytes(1'102'401'664));
  EXPECT_TRUE(plan.fit.fits());
  // 6.34983358464e24 / (1024 x 989.4e12 x 0.5) / 86400
  EXPECT_THAT(DaysOf(At(plan, EstimateKind::kTextbook)), DoubleNear(145.0798, 1e-4));
  EXPECT_THAT(DaysOf(At(plan, EstimateKind::kLowerBound)), DoubleNear(145.0798 / 2, 1e-4));
  EXPECT_EQ(At(plan, EstimateKind::kTextbook).mfu_basis, MfuBasis::kRequest);
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kMfuAssumed)));
}

TEST(PlanRun, NamesAnAssumedMfuAsAssumed) {
  const Plan plan = Planned(Llama70bRun());
  EXPECT_EQ(At(plan, EstimateKind::kTextbook).mfu, 0.4);
  EXPECT_EQ(At(plan, EstimateKind::kTextbook).mfu_basis, MfuBasis::kAssumed);
  EXPECT_THAT(KindsOf(plan.notes), Contains(NoteKind::kMfuAssumed));
  EXPECT_EQ(At(plan, EstimateKind::kLowerBound).mfu, 1);
}

TEST(PlanRun, SaysWhereTheAssumedMfuHasNoEvidence) {
  RunSpec run = Llama70bRun();
  run.training.precision.compute_data_type = DataType::kFp8;
  EXPECT_THAT(TextsOf(Planned(run).notes), Contains(HasSubstr("fp8 were not looked at")));
}

TEST(PlanRun, TakesABareParameterCount) {
  RunSpec run = Llama70bRun();
  run.model = {};
  run.model.parameter_count = 70'000'000'000;
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.model_name, "parameters");
  EXPECT_THAT(plan.flops.counts, SizeIs(1));
  EXPECT_FALSE(plan.has_shapes());
}

TEST(PlanRun, UsesTheFlopsConventionAskedFor) {
  RunSpec run = Llama70bRun();
  const double total = At(Planned(run), EstimateKind::kLowerBound).duration.value();
  run.options.flops_convention = FlopsConvention::kSixNNonEmbedding;
  const double non_embedding = At(Planned(run), EstimateKind::kLowerBound).duration.value();
  EXPECT_DOUBLE_EQ(non_embedding / total, (70553706496.0 - 2101346304.0) / 70553706496.0);
}

TEST(PlanRun, SaysWhereEachRateComesFrom) {
  RunSpec run = Llama70bRun();
  const Plan datasheet = Planned(run);
  ASSERT_THAT(datasheet.rates, SizeIs(3));
  EXPECT_EQ(datasheet.rates[0].quantity, "peak_flops_per_second");
  EXPECT_EQ(datasheet.rates[0].data_type, DataType::kBf16);
  EXPECT_EQ(datasheet.rates[0].source, RateSource::kDatasheet);
  EXPECT_THAT(datasheet.rates[0].citation, HasSubstr("datasheet"));
  run.cluster.peak_flops_per_second = 700e12;
  run.cluster.device_memory_bytes = 85'000'000'000;
  run.economics.device_power_watts = 650;
  const Plan request = Planned(run);
  for (const Rate& rate : request.rates) {
    EXPECT_EQ(rate.source, RateSource::kRequest) << rate.quantity;
    EXPECT_EQ(rate.citation, "given in the request");
  }
  EXPECT_EQ(request.rates[0].value, 700e12);
  EXPECT_NE(RatesFingerprint(datasheet.rates), RatesFingerprint(request.rates));
}

TEST(PlanRun, PicksThePeakOfTheComputeType) {
  RunSpec run = Llama70bRun();
  run.training.precision.compute_data_type = DataType::kFp8;
  EXPECT_EQ(Planned(run).rates[0].value, 1978.9e12);
}

TEST(PlanRun, LeavesTimesOutWhereTheCatalogueLacksThePeak) {
  RunSpec run = Llama70bRun();
  run.cluster.device.accelerator = "tpu-v5p";  // no fp8
  run.training.precision.compute_data_type = DataType::kFp8;
  const Plan plan = Planned(run);
  EXPECT_TRUE(plan.estimates.empty());
  EXPECT_GT(plan.state.total, Bytes(0));
  const auto note = std::find_if(plan.notes.begin(), plan.notes.end(),
                                 [](auto& n) { return n.kind == NoteKind::kPeakUnknown; });
  ASSERT_NE(note, plan.notes.end());
  EXPECT_THAT(note->text, AllOf(HasSubstr("fp8"), HasSubstr("bf16")));
  run.options.assumed_mfu = 0.4;  // a share of what is not known
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("options.assumed_mfu")));
  run.cluster.peak_flops_per_second = 100e12;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(PlanRun, CountsMemoryOnEveryProductInEveryComputeType) {
  for (const Accelerator& accelerator : Accelerators()) {
    for (const DataType type :
         {DataType::kFp32, DataType::kFp16, DataType::kBf16, DataType::kFp8, DataType::kFp4}) {
      SCOPED_TRACE(absl::StrCat(accelerator.name, " ", DataTypeName(type)));
      RunSpec run = Llama70bRun();
      run.cluster.device.accelerator = accelerator.name;
      run.training.precision.compute_data_type = type;
      run.options.assumed_mfu.reset();
      if (!Multiplies(accelerator.architecture, type)) {
        EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("training.precision.compute_data_type")));
        continue;
      }
      const Plan plan = Planned(run);
      EXPECT_GT(plan.capacity.usable(), Bytes(0));
      EXPECT_EQ(plan.estimates.empty(), !PeakFlopsPerSecond(accelerator, type));
    }
  }
}

TEST(PlanRun, LeavesEnergyOutWhereNoPowerIsKnown) {
  RunSpec run = Llama70bRun();
  run.cluster.device.accelerator = "tpu-v5p";
  const Plan plan = Planned(run);
  EXPECT_FALSE(At(plan, EstimateKind::kLowerBound).energy.has_value());
  EXPECT_THAT(TextsOf(plan.notes), Contains(HasSubstr("No energy")));
}

TEST(PlanRun, DoesNotFitIsAnAnswer) {
  RunSpec run = Llama70bRun();
  run.cluster.device_count = 8;  // 1128.9e9 bytes on 8 x 85.02e9
  const Plan plan = Planned(run);
  EXPECT_FALSE(plan.fit.fits());
  EXPECT_EQ(plan.fit.minimum_device_count, 14);  // 13.28
}

// State that fits says nothing of a run that was not counted whole.
TEST(PlanRun, StateAloneIsNoVerdictOnTheRun) {
  RunSpec run = Llama70bRun();
  EXPECT_EQ(Planned(run).verdict(), Verdict::kStateFits);
  run.training.activation_bytes = 1'000'000'000;
  EXPECT_EQ(Planned(run).verdict(), Verdict::kFits);
  run = Llama70bRun();
  run.cluster.device_count = 8;
  EXPECT_EQ(Planned(run).verdict(), Verdict::kDoesNotFit);
}

TEST(PlanRun, ARequestMayRefuseToCountStateAlone) {
  RunSpec run = Llama70bRun();
  run.options.require_activations = true;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("layout")));
  run.training.activation_bytes = 1'000'000'000;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(PlanRun, DerivationAndLedgerArePartOfAFullAnswer) {
  RunSpec run = Llama70bRun();
  run.options.include_derivation = true;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("options.include_derivation")));
  run.options.full = true;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(PlanRun, EachNoteNamesFieldsThatItsTextNames) {
  for (const Note& note : Planned(Llama70bRun()).notes) {
    for (const std::string& field : note.fields) {
      if (note.kind == NoteKind::kFlopsConvention || note.kind == NoteKind::kDeviceCapacity)
        continue;
      EXPECT_THAT(note.text, HasSubstr(field));
    }
  }
}

TEST(PlanRun, AssumptionsFollowWhatWasGiven) {
  RunSpec run = Llama70bRun();
  EXPECT_THAT(TextsOf(Planned(run).notes), Contains(HasSubstr("Activations are not counted")));
  run.training.activation_bytes = 1'000'000'000;
  EXPECT_THAT(TextsOf(Planned(run).notes), Not(Contains(HasSubstr("Activations are not counted"))));
}

TEST(PlanRun, PassesOnWhatTheCatalogueNotes) {
  RunSpec run = Llama70bRun();
  run.cluster.device.accelerator = "v100-pcie";
  run.training.precision.compute_data_type = DataType::kFp16;
  EXPECT_THAT(TextsOf(Planned(run).notes), Contains(HasSubstr("16GB and 32GB exist")));
}

TEST(PlanRunRefuses, AnEmptyRunNamingAllThatItLacks) {
  EXPECT_THAT(PlanRun(RunSpec()), NamesFields(UnorderedElementsAre("model", "cluster.device")));
}

TEST(PlanRunRefuses, TheModelGivenTwice) {
  RunSpec run = Llama70bRun();
  run.model.parameter_count = 7;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("model")));
}

TEST(PlanRunRefuses, UnknownNamesWithNearOnes) {
  RunSpec run = Llama70bRun();
  run.cluster.device.accelerator = "h1000";
  EXPECT_THAT(PlanRun(run), Fails(absl::StatusCode::kNotFound, "GPU_UNKNOWN"));
  run = Llama70bRun();
  run.model.preset = "llama-4-70b";
  EXPECT_THAT(PlanRun(run), Fails(absl::StatusCode::kNotFound, "MODEL_UNKNOWN"));
}

// An unknown name is reported with other violations: all can be corrected at once.
TEST(PlanRunRefuses, UnknownNamesBesideOtherFaultsTogether) {
  RunSpec run = Llama70bRun();
  run.cluster.device.accelerator = "h1000";
  run.model.preset = "llama-4-70b";
  EXPECT_THAT(PlanRun(run),
              NamesFields(UnorderedElementsAre("model.preset", "cluster.device.accelerator")));
  run.economics.budget_usd = 1;
  EXPECT_THAT(PlanRun(run),
              NamesFields(UnorderedElementsAre("model.preset", "cluster.device.accelerator",
                                               "economics.budget_usd")));
}

// Violations that depend on a name's meaning are reported with those of the request alone.
TEST(PlanRunRefuses, EveryFaultOfAKnownDeviceTogether) {
  RunSpec run = Llama70bRun();
  run.cluster.device.accelerator = "v100-sxm-16";
  run.cluster.reserved_memory_bytes = 1'000'000'000'000;
  run.economics.budget_usd = 1;
  EXPECT_THAT(PlanRun(run), NamesFields(UnorderedElementsAre("economics.budget_usd",
                                                             "cluster.reserved_memory_bytes")));
}

TEST(PlanRunRefuses, WhatNeedsShapesOfABareCount) {
  RunSpec run = Llama70bRun();
  run.model = {};
  run.model.parameter_count = 1000;
  run.training.optimizer.kind = OptimizerKind::kAdafactor;
  run.options.flops_convention = FlopsConvention::kSixNNonEmbedding;
  EXPECT_THAT(PlanRun(run), NamesFields(UnorderedElementsAre("training.optimizer.kind",
                                                             "options.flops_convention")));
}

// The largest run that is let through: every number stays finite.
TEST(PlanRun, OfTheLargestRunIsFinite) {
  RunSpec run = Llama70bRun();
  run.model = {};
  run.model.parameter_count = 1'000'000'000'000'000;
  run.training.token_count = 1'000'000'000'000'000'000;
  run.cluster.device_count = 1;
  run.cluster.peak_flops_per_second = 1;
  run.options.assumed_mfu = 1e-6;
  run.economics = {.device_hour_price_usd = 1e6,
                   .device_power_watts = 1e6,
                   .host_power_watts_per_device = 1e6,
                   .power_usage_effectiveness = 10};
  run.options.include_derivation = run.options.full = true;
  const Plan plan = Planned(run);
  EXPECT_TRUE(std::isfinite(At(plan, EstimateKind::kTextbook).cost->value()));
  EXPECT_TRUE(std::isfinite(At(plan, EstimateKind::kTextbook).energy->value()));
  for (const DerivationStep& step : plan.derivation) {
    EXPECT_TRUE(std::isfinite(step.value)) << step.symbol;
  }
}

TEST(Derivation, IsThereOnRequestAlone) {
  EXPECT_THAT(Planned(Llama70bRun()).derivation, IsEmpty());
}

TEST(Derivation, HasAStepWithUnitAndSourceForEachNumber) {
  RunSpec run = Llama70bRun();
  run.options.include_derivation = run.options.full = true;
  run.economics.device_hour_price_usd = 2;
  std::vector<std::string> symbols;
  for (const DerivationStep& step : Planned(run).derivation) {
    symbols.push_back(step.symbol);
    EXPECT_FALSE(step.formula.empty() || step.substitution.empty() || step.unit.empty() ||
                 step.source.empty())
        << step.symbol;
  }
  for (const char* symbol :
       {"device_count", "parameters.components.norm.parameter_count", "parameters.total",
        "parameters.non_embedding", "flops.counts.six_n_total.flops",
        "memory.state.terms.master_weight.size_bytes", "memory.state.state_bytes",
        "memory.peak_bytes.expected", "memory.state.largest_parameter_count",
        "rates.peak_flops_per_second.value", "estimates.lower_bound.duration_seconds.expected",
        "estimates.textbook.cost_usd", "estimates.textbook.energy_joules"}) {
    EXPECT_THAT(symbols, Contains(symbol));
  }
}

}  // namespace
}  // namespace sextant
