// Plans and accelerators to the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "server/convert/accelerator.h"
#include "server/convert/plan.h"
#include "server/convert/whole_run.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/server/message_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Plan PlanOf(const RunSpec& run) {
  const auto plan = PlanRun(run);
  EXPECT_THAT(plan, IsOk());
  return plan.value_or(Plan());
}

RunSpec SmallConvertedRun() {
  RunSpec run;
  run.model.preset = "gpt2";
  run.training.token_count = 10'000'000'000;
  run.training.activation_bytes = 1'000'000;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = 2;
  run.economics.device_hour_price_usd = 3;
  run.options.include_derivation = run.options.full = true;
  return run;
}

TEST(PlanTo, CarriesEveryPart) {
  const Plan plan = PlanOf(SmallConvertedRun());
  v1::Plan wire;
  PlanTo(plan, /*full=*/true, &wire);
  EXPECT_EQ(wire.verdict(), v1::VERDICT_FITS);
  EXPECT_EQ(wire.model_name(), "gpt2");
  EXPECT_EQ(wire.device(), "h100-sxm");
  EXPECT_EQ(wire.device_count(), 2);
  EXPECT_EQ(wire.token_count(), 10'000'000'000);
  EXPECT_EQ(wire.parameters().total(), 124'439'808);
  EXPECT_EQ(wire.parameters().embedding() + wire.parameters().non_embedding(), 124'439'808);
  ASSERT_EQ(wire.flops().counts_size(), 2);
  EXPECT_EQ(wire.flops().convention_used(), v1::FLOPS_CONVENTION_SIX_N_TOTAL);
  EXPECT_EQ(wire.flops().counts(0).flops_per_token(), 6.0 * 124'439'808);

  const v1::ModelState& state = wire.memory().state();
  int64_t terms = 0;
  for (const auto& term : state.terms()) terms += term.size_bytes();
  EXPECT_EQ(terms, state.state_bytes());
  EXPECT_EQ(state.terms(0).name(), "weight");
  EXPECT_EQ(state.terms(0).data_type(), v1::DATA_TYPE_BF16);
  EXPECT_EQ(state.terms(0).bytes_per_parameter(), 2);
  EXPECT_EQ(state.activation_bytes(), 1'000'000);
  EXPECT_EQ(state.total_bytes(), terms + 1'000'000);
  EXPECT_EQ(state.minimum_device_count(), 1);
  EXPECT_EQ(state.largest_parameter_count(), plan.fit.largest_parameter_count);
  const v1::Memory& memory = wire.memory();
  EXPECT_EQ(memory.scope(), v1::MEMORY_SCOPE_MODEL_STATE_AND_GIVEN_ACTIVATIONS);
  EXPECT_EQ(memory.peak_bytes().expected(), static_cast<double>(state.total_bytes() / 2));
  // 81,559 - 480 MiB of an h100-sxm
  EXPECT_EQ(memory.headroom_bytes().low() + memory.peak_bytes().high(), 85'017'493'504.0);
  EXPECT_FALSE(memory.has_peak_stage());
  EXPECT_FALSE(wire.has_fit_chance());

  ASSERT_EQ(wire.estimates_size(), 2);
  EXPECT_EQ(wire.estimates(1).kind(), v1::ESTIMATE_KIND_TEXTBOOK);
  EXPECT_FALSE(wire.estimates(0).has_measured_fraction());
  ASSERT_EQ(wire.rates_size(), 3);
  EXPECT_EQ(static_cast<size_t>(wire.assumptions_size() + wire.warnings_size()), plan.notes.size());
  EXPECT_EQ(wire.sources(wire.rates(0).source_number() - 1), plan.rates[0].citation);
  EXPECT_EQ(static_cast<size_t>(wire.derivation_size()), plan.derivation.size());
  v1::Plan derived;
  *derived.mutable_derivation() = wire.derivation();
  EXPECT_THAT(UnsetFields(derived), Not(Contains(HasSubstr("DerivationStep"))));
}

TEST(PlanTo, ABasicViewHasWhatASchedulerNeeds) {
  RunSpec run = SmallConvertedRun();
  run.training.activation_bytes = {};
  v1::Plan wire;
  PlanTo(PlanOf(run), /*full=*/false, &wire);
  EXPECT_EQ(wire.verdict(), v1::VERDICT_STATE_FITS);
  EXPECT_EQ(wire.parameters().total(), 124'439'808);
  EXPECT_EQ(wire.parameters().components_size(), 0);
  ASSERT_EQ(wire.flops().counts_size(), 1);
  EXPECT_EQ(wire.flops().counts(0).convention(), wire.flops().convention_used());
  EXPECT_EQ(wire.estimates_size(), 2);
  ASSERT_EQ(wire.warnings_size(), 1);
  EXPECT_EQ(wire.warnings(0).kind(), v1::NOTE_KIND_ACTIVATIONS_NOT_COUNTED);
  EXPECT_EQ(wire.assumptions_size(), 0);
  EXPECT_EQ(wire.rates_size(), 3);
  EXPECT_EQ(wire.rates(0).source_number(), 0);
  EXPECT_EQ(wire.sources_size(), 0);
  EXPECT_FALSE(wire.memory().has_state());
  EXPECT_GT(wire.memory().peak_bytes().expected(), 0);
}

// Unknown values are absent, not zero.
TEST(PlanTo, LeavesOutWhatIsNotKnown) {
  RunSpec run = SmallConvertedRun();
  run.model = {};
  run.model.parameter_count = 1000;
  run.training.activation_bytes = {};
  run.economics.device_hour_price_usd = {};
  run.cluster.device.accelerator = "tpu-v5p";
  v1::Plan wire;
  PlanTo(PlanOf(run), /*full=*/true, &wire);
  EXPECT_FALSE(wire.parameters().has_embedding());
  EXPECT_FALSE(wire.memory().state().has_activation_bytes());
  EXPECT_FALSE(wire.estimates(0).has_cost_usd());
  EXPECT_FALSE(wire.estimates(0).has_energy_joules());
  EXPECT_EQ(wire.parameters().components_size(), 0);
}

TEST(PlanTo, CarriesMeasuredRates) {
  DeviceCalibration calibration;
  calibration.uuid = "GPU-1";
  calibration.product_name = "NVIDIA H100 80GB HBM3";
  calibration.accelerator = AcceleratorNamed("h100-sxm");
  calibration.memory = Bytes(85'000'000'000);
  calibration.measured_unix_seconds = 1'769'860'800;
  calibration.fingerprint = "0123456789abcdef";
  calibration.KeepIfBetter({.data_type = DataType::kBf16,
                            .rate = FlopsPerSecond(494.7e12),
                            .relative_spread = 0.02,
                            .sample_count = 12,
                            .stable = false,
                            .engine = "x"});
  RunSpec run = SmallConvertedRun();
  run.cluster.device.accelerator = "";
  run.cluster.device.calibrations = {ModelOf(calibration)};
  v1::Plan wire;
  PlanTo(PlanOf(run), /*full=*/true, &wire);
  EXPECT_EQ(wire.device(), "h100-sxm");
  ASSERT_EQ(wire.estimates_size(), 3);
  EXPECT_EQ(wire.estimates(2).kind(), v1::ESTIMATE_KIND_MEASURED_BOUND);
  EXPECT_EQ(wire.estimates(2).mfu(), 0.5);
  EXPECT_EQ(wire.estimates(2).measured_fraction(), 1);
  EXPECT_EQ(wire.estimates(0).measured_fraction(), 2);
  EXPECT_EQ(wire.memory().capacity().usable_bytes(), 85'000'000'000);
  EXPECT_EQ(wire.memory().capacity().nominal_bytes(), 80'000'000'000);
  ASSERT_EQ(wire.rates_size(), 4);
  const v1::RateUsed& matmul = wire.rates(1);
  EXPECT_EQ(wire.sources(matmul.source_number() - 1), PlanOf(run).rates[1].citation);
  EXPECT_THAT(UnsetFields(matmul), IsEmpty());
  EXPECT_THAT(Numbers(matmul.value(), matmul.stable(), matmul.relative_spread(),
                      matmul.measured_time().seconds()),
              ElementsAre(494.7e12, 0, 0.02, 1'769'860'800));
  EXPECT_EQ(matmul.quantity(), "matmul_flops_per_second");
  EXPECT_EQ(matmul.source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
  EXPECT_EQ(matmul.device_uuid(), "GPU-1");
  EXPECT_EQ(matmul.calibration_fingerprint(), "0123456789abcdef");
  const v1::RateUsed& memory = wire.rates(2);
  EXPECT_TRUE(memory.has_measured_time());
  EXPECT_FALSE(memory.has_relative_spread());
  EXPECT_FALSE(memory.has_stable());
  EXPECT_FALSE(wire.rates(0).has_measured_time());  // the datasheet's peak
}

TEST(AcceleratorTo, CarriesFiguresWithTheirSources) {
  v1::Accelerator wire;
  AcceleratorTo(**FindAccelerator("h100-sxm"), &wire);
  EXPECT_THAT(wire.reported_memory_bytes().source(), HasSubstr("k8s-test-infra"));
  EXPECT_FALSE(wire.memory_bytes().source().empty());
  ASSERT_EQ(wire.peak_rates_size(), 8);
  EXPECT_EQ(wire.peak_rates(5).data_type(), v1::DATA_TYPE_BF16);
  EXPECT_TRUE(wire.peak_rates(5).matrix_unit());
  EXPECT_EQ(wire.peak_rates(5).flops_per_second().value(), 989.4e12);
  wire.clear_peak_rates();
  wire.clear_notes();
  for (v1::DatasheetFigure* figure :
       {wire.mutable_memory_bytes(), wire.mutable_reported_memory_bytes(),
        wire.mutable_driver_reserved_bytes(), wire.mutable_memory_bandwidth_bytes_per_second(),
        wire.mutable_link_bandwidth_bytes_per_second(),
        wire.mutable_link_bidirectional_bandwidth_bytes_per_second(),
        wire.mutable_pcie_generation(), wire.mutable_cache_bytes(),
        wire.mutable_compute_unit_count(), wire.mutable_boost_clock_hertz(),
        wire.mutable_thermal_design_power_watts()}) {
    figure->clear_source();
  }
  EXPECT_THAT(wire, EqualsText(R"(
      name: "h100-sxm" product_name: "H100 SXM5 80GB" vendor: "NVIDIA" architecture: "Hopper"
      form_factor: "SXM5" memory_type: "HBM3" link_type: "NVLink4"
      memory_bytes { value: 80e9 } reported_memory_bytes { value: 85520809984 }
      driver_reserved_bytes { value: 503316480 }
      memory_bandwidth_bytes_per_second { value: 3.35e12 }
      link_bandwidth_bytes_per_second { value: 450e9 }
      link_bidirectional_bandwidth_bytes_per_second { value: 900e9 }
      pcie_generation { value: 5 } cache_bytes { value: 52428800 }
      compute_unit_count { value: 132 } boost_clock_hertz { value: 1.83e9 }
      thermal_design_power_watts { value: 700 })"));
}

TEST(AcceleratorTo, SaysWhichUnitsAPeakIsOf) {
  v1::Accelerator volta;
  AcceleratorTo(**FindAccelerator("v100-sxm-32"), &volta);
  EXPECT_EQ(volta.peak_rates(3).data_type(), v1::DATA_TYPE_INT8);
  EXPECT_FALSE(volta.peak_rates(3).matrix_unit());
  v1::Accelerator cdna2;
  AcceleratorTo(**FindAccelerator("mi250x"), &cdna2);
  EXPECT_EQ(cdna2.peak_rates(3).data_type(), v1::DATA_TYPE_FP32);
  EXPECT_TRUE(cdna2.peak_rates(3).matrix_unit());
}

TEST(AcceleratorTo, LeavesOutFiguresThatItLacks) {
  v1::Accelerator wire;
  AcceleratorTo(**FindAccelerator("tpu-v5p"), &wire);
  EXPECT_FALSE(wire.has_thermal_design_power_watts());
  EXPECT_FALSE(wire.has_reported_memory_bytes());
  EXPECT_FALSE(wire.has_driver_reserved_bytes());
  EXPECT_FALSE(wire.has_pcie_generation());
  EXPECT_EQ(wire.peak_rates_size(), 2);
}

// A different value in every field.
Plan SampleWholeRun() {
  Plan plan;
  plan.flops.counts.push_back(
      {.convention = FlopsConvention::kSixNTotal, .per_token = Flops(1), .run = Flops(2)});
  plan.flops.convention = FlopsConvention::kSixNTotal;
  plan.compute_data_type = DataType::kBf16;
  plan.peak = FlopsPerSecond(3);
  TimeEstimate& estimate = plan.estimates.emplace_back();
  estimate.kind = EstimateKind::kPredicted;
  estimate.mfu_basis = MfuBasis::kPredicted;
  estimate.mfu = 0.4;
  estimate.hfu = 0.45;
  estimate.measured_fraction = 0.46;
  estimate.low = Seconds(4);
  estimate.duration = Seconds(5);
  estimate.high = Seconds(5.5);
  estimate.device_hours = 47;
  estimate.cost.emplace(48);
  estimate.energy.emplace(49);
  estimate.elapsed_low = Seconds(6);
  estimate.elapsed = Seconds(7);
  estimate.elapsed_high = Seconds(8);
  estimate.tokens_per_second = 9;
  estimate.deadline = LimitCheck{.met = true, .margin = 10, .chance = 0.11};
  estimate.budget = LimitCheck{.met = false, .margin = -12};
  WholeRun& whole = plan.whole_run;
  whole.steps.emplace();
  whole.steps->count = 13;
  whole.elapsed = {.steps = 1, .stalls = 2, .checkpoints = 4, .failures = 1};
  whole.interruptions = {.between_failures = Seconds(14),
                         .interval = Seconds(15),
                         .write = Seconds(16),
                         .stall = Seconds(17)};
  whole.checkpoint.terms = {{"weight", Bytes(18)}, {"first_moment", Bytes(19)}};
  whole.checkpoint.size = Bytes(20);
  whole.checkpoint.write = Seconds(21);
  whole.checkpoint.young_interval = Seconds(22);
  whole.checkpoint.daly_interval = Seconds(23);
  whole.checkpoint.count = 24;
  whole.checkpoint.resume_read = Bytes(25);
  whole.checkpoint.resume_read_per_device = Bytes(26);
  whole.checkpoint.resume = Seconds(27);
  DataLoading& data = whole.data.emplace();
  data.bytes_per_token_id = 28;
  data.token_file = Bytes(29);
  data.read_rate.emplace(30);
  data.device_step.emplace(31);
  data.device_copy.emplace(32);
  whole.failure_count = 33;
  SlowestCost& slowest = whole.slowest.emplace();
  slowest.device = {.uuid = "GPU-1", .saved_share = 0.34};
  slowest.hostname = "node7";
  slowest.saved = Seconds(35);
  slowest.saved_cost.emplace(36);
  whole.time_limit = Seconds(37);
  return plan;
}

v1::Plan WireOfWholeRun() {
  v1::Plan out;
  PlanTo(SampleWholeRun(), /*full=*/false, &out);
  return out;
}

// Elapsed time is 1 of steps, 2 of stalls, 4 of checkpoints, 1 of failures.
TEST(WholeRunTo, CarriesTheRun) {
  EXPECT_THAT(WireOfWholeRun().whole_run(), EqualsText(R"(
      basis: ESTIMATE_KIND_PREDICTED step_count: 13 goodput_ratio: 0.125 stall_share: 0.25
      checkpoint_share: 0.5 failure_share: 0.125 mean_time_between_failures_seconds: 14
      expected_failure_count: 33 recommended_time_limit_seconds: 37
      slowest_device { uuid: "GPU-1" hostname: "node7" saved_share: 0.34 saved_seconds: 35
                       saved_cost_usd: 36 }
      checkpoint {
        terms { name: "weight" size_bytes: 18 } terms { name: "first_moment" size_bytes: 19 }
        size_bytes: 20 write_seconds: 21 stall_seconds: 17 young_interval_seconds: 22
        daly_interval_seconds: 23 interval_seconds: 15 count: 24 resume_read_bytes: 25
        resume_read_bytes_per_device: 26 resume_read_seconds: 27 }
      data_loading { bytes_per_token_id: 28 token_file_bytes: 29 read_bytes_per_second: 30
                     device_step_bytes: 31 device_copy_seconds: 32 }
      telemetry { flops_convention: FLOPS_CONVENTION_SIX_N_TOTAL model_flops_per_token: 1
                  planned_mfu: 0.4 peak_flops_per_second: 3 compute_data_type: DATA_TYPE_BF16
                  planned_tokens_per_second: 9 })"));
}

TEST(PlanTo, CarriesAnEstimateOfTime) {
  const v1::TimeEstimate wire = WireOfWholeRun().estimates(0);
  EXPECT_THAT(wire, EqualsText(R"(
      kind: ESTIMATE_KIND_PREDICTED duration_seconds { low: 4 expected: 5 high: 5.5 }
      elapsed_seconds { low: 6 expected: 7 high: 8 } mfu: 0.4 mfu_basis: MFU_BASIS_PREDICTED
      hfu: 0.45 measured_fraction: 0.46 device_hours: 47 tokens_per_second: 9 cost_usd: 48
      energy_joules: 49 deadline { verdict: VERDICT_MET margin: 10 chance: 0.11 }
      budget { verdict: VERDICT_MISSED margin: -12 })"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

// Detects a field that is added to the API but not to the conversion or to the test.
TEST(WholeRunTo, TheTestKnowsEveryField) {
  EXPECT_THAT(UnsetFields(WireOfWholeRun().whole_run()), IsEmpty());
}

}  // namespace
}  // namespace sextant::server
