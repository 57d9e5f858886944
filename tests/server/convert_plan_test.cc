#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "server/convert/accelerator.h"
#include "server/convert/plan.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/server/message_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
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
  EXPECT_EQ(matmul.value(), 494.7e12);
  EXPECT_EQ(wire.sources(matmul.source_number() - 1), PlanOf(run).rates[1].citation);
  EXPECT_THAT(UnsetFields(matmul), IsEmpty());
  EXPECT_FALSE(matmul.stable());
  EXPECT_EQ(matmul.quantity(), "matmul_flops_per_second");
  EXPECT_EQ(matmul.source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
  EXPECT_EQ(matmul.relative_spread(), 0.02);
  EXPECT_EQ(matmul.measured_time().seconds(), 1'769'860'800);
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

}  // namespace
}  // namespace sextant::server
