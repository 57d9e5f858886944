#include "client/report/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "client/flags/plan_flags.h"
#include "client/report/memory_text.h"
#include "client/report/rates_text.h"
#include "client/report/text.h"
#include "tests/client/sample_calibration.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const absl::Time kNow = absl::FromUnixSeconds(1'763'812'800);  // 2025-11-22 12:00:00 UTC

// GiB: 2e9 / 2^30 = 1.8626, 4e9 3.7253, 16e9 14.9012, 80e9 74.5058, 78e9 72.6432.
// Hours: 15000 / 3600 = 4.1667, 37500 / 3600 = 10.4167. kWh: 8.4e7 / 3.6e6 = 23.33.
constexpr char kGolden[] =
    R"(STATE FITS: toy (1,000,000,000 parameters), 20,000,000,000 tokens, 8 x h100-sxm
  memory  1.86 GiB needed, 74.51 GiB usable per device: headroom 72.64 GiB
  counts  model state; no activations; divided over all devices
  time    at least 4.17 hours (lower bound); 10.42 hours by the textbook at 40.00 % MFU
  run     83 device-hours, 166.67 USD, 58.33 kWh, by the textbook
  rates   datasheet: peak flops; request: device power
  warning Activations are not counted, so the run may need much more memory: give layout to have
          them counted, or --activation-bytes.

Model
  total              1,000,000,000  parameters
  embedding            200,000,000
  non-embedding        800,000,000
  by component:
    token embedding    200,000,000  embedding
    feed forward       800,000,000

Arithmetic (training, forward and backward)
  convention            per token        whole run  counts
  six-n-total          6.00 GFLOP  1.2000e+20 FLOP  model   <- used for the times
  six-n-non-embedding  4.80 GFLOP  9.6000e+19 FLOP  model

Memory (sharded evenly over all devices)
  whole job      data type  bytes/parameter       memory
  weight         bf16                     2     1.86 GiB
  gradient       bf16                     2     1.86 GiB
  master weight  fp32                     4     3.73 GiB
  first moment   fp32                     4     3.73 GiB
  second moment  fp32                     4     3.73 GiB
  model state                                  14.90 GiB
  activations                                not counted
  total                                        14.90 GiB

  needed per device                     1.86 GiB
  usable per device                    74.51 GiB
  headroom per device                  72.64 GiB
  fewest devices that hold it                  1  devices
  largest model on these devices  40,000,000,000  parameters

Time and cost (whole run, no failures or stalls)
                      lower bound   textbook estimate
  MFU                    100.00 %             40.00 %
  duration             4.17 hours         10.42 hours
  device time  33.33 device-hours  83.33 device-hours
  throughput   1,333,333 tokens/s    533,333 tokens/s
  cost                  66.67 USD          166.67 USD
  energy                23.33 kWh           58.33 kWh
  lower bound: full peak
  textbook estimate: assumed MFU

Warnings
  - Activations are not counted, so the run may need much more memory: give layout to have them
    counted, or --activation-bytes.

Rates used
  peak_flops_per_second (bf16)  1.00 PFLOP/s  datasheet  h100-sxm: a datasheet
  device_power_watts                700.00 W  request    economics.device_power_watts

Assumptions
  - Memory is divided evenly over all devices, as ZeRO stage 3 keeps it between gathers: give
    layout to count what is gathered.
  - No device memory is reserved: give --reserved-memory-bytes to reserve some.
  - Failures take no time.

Derivation
  memory.state.state_bytes = bytes_per_parameter * parameters
    = 16 * 1000000000
    = 16,000,000,000 byte [sum of declared terms]

engine 0.1.0, rates c0ffee
)";

TEST(PlanText, IsAsWorkedByHand) { EXPECT_EQ(PlanText(SampleOfModelState(), kNow), kGolden); }

// 3e9 / 2^30 = 2.7940, 77e9 71.7118, 8e9 7.4506, 24e9 22.3517.
TEST(PlanText, CountsTheRequestsActivations) {
  const std::string text = PlanText(SampleResponse(), kNow);
  EXPECT_THAT(text, StartsWith(R"(FITS: toy (1,000,000,000 parameters), 20,000,000,000 tokens, )"
                               R"(8 x h100-sxm
  memory  2.79 GiB needed, 74.51 GiB usable per device: headroom 71.71 GiB
  counts  model state and the request's activations; divided over all devices
)"));
  EXPECT_THAT(text, HasSubstr(R"(
  model state                                14.90 GiB
  activations                                 7.45 GiB
  total                                      22.35 GiB
)"));
  EXPECT_THAT(text, Not(HasSubstr("\nWarnings\n")));
}

// Recomputing all layers costs a third more: 8 N for 6 N.
TEST(PlanText, TellsHardwareFromModelFlops) {
  v1::PlanRunResponse response = SampleResponse();
  v1::Plan& plan = *response.mutable_plan();
  v1::TrainingFlops* flops = response.mutable_plan()->mutable_flops();
  flops->mutable_counts(1)->set_convention(v1::FLOPS_CONVENTION_MEGATRON_2021_HARDWARE);
  flops->mutable_counts(1)->set_hardware(true);
  EXPECT_THAT(PlanText(response, kNow), HasSubstr(R"(
  convention               per token        whole run  counts
  six-n-total             6.00 GFLOP  1.2000e+20 FLOP  model     <- used for the times
  megatron-2021-hardware  4.80 GFLOP  9.6000e+19 FLOP  hardware

Memory)"));
  flops->set_hardware_flops_ratio(4.0 / 3);
  MutableEstimate(plan, v1::ESTIMATE_KIND_LOWER_BOUND).set_hfu(4.0 / 3);
  MutableEstimate(plan, v1::ESTIMATE_KIND_TEXTBOOK).set_hfu(0.4 * 4 / 3);
  const std::string text = PlanText(response, kNow);
  EXPECT_THAT(text, HasSubstr(" FLOP  hardware\n"
                              "  hardware FLOPs, recomputation included: 1.3333 x those of "
                              "six-n-total\n\nMemory"));
  EXPECT_THAT(text, HasSubstr(R"(
  MFU                    100.00 %             40.00 %
  HFU                    133.33 %             53.33 %
  duration )"));
  EXPECT_THAT(text, HasSubstr("\n  lower bound: full peak, recomputation included\n"));
}

TEST(PlanText, HasNoHfuThatIsTheMfu) {
  v1::PlanRunResponse response = SampleOfModelState();
  response.mutable_plan()->mutable_flops()->set_hardware_flops_ratio(1);
  MutableEstimate(*response.mutable_plan(), v1::ESTIMATE_KIND_LOWER_BOUND).set_hfu(1);
  MutableEstimate(*response.mutable_plan(), v1::ESTIMATE_KIND_TEXTBOOK).set_hfu(0.4);
  EXPECT_EQ(PlanText(response, kNow), kGolden);
}

TEST(PlanText, SaysAtOnceHowMuchIsMissing) {
  v1::PlanRunResponse response = SampleThatDoesNotFit();
  response.mutable_plan()->set_device_count(1);
  // 16e9 / 2^30 = 14.9012, 10e9 9.3132, 6e9 5.5879.
  EXPECT_THAT(
      PlanText(response, kNow),
      StartsWith(
          "DOES NOT FIT: toy (1,000,000,000 parameters), 20,000,000,000 tokens, 1 x h100-sxm\n"
          "  memory  14.90 GiB needed, 9.31 GiB usable per device: short by 5.59 GiB; "
          "takes 2 devices\n"));
}

TEST(PlanText, PutsWhatWasMeasuredFirst) {
  const std::string text = PlanText(SampleMeasuredPlan(), kNow);
  EXPECT_THAT(text, HasSubstr("  time    8.33 hours at the measured rate; at least 4.17 hours "
                              "(lower bound); 10.42 hours by the\n"
                              "          textbook at 40.00 % MFU\n"));
  EXPECT_THAT(text, HasSubstr(R"(
                  measured bound         lower bound  textbook estimate
  MFU                    50.00 %            100.00 %            40.00 %
  of measured           100.00 %            200.00 %            80.00 %
  duration            8.33 hours          4.17 hours        10.42 hours
  device-hours             66.67               33.33              83.33
  throughput    666,667 tokens/s  1,333,333 tokens/s   533,333 tokens/s
  cost                133.33 USD           66.67 USD         166.67 USD
  energy               46.67 kWh           23.33 kWh          58.33 kWh
  measured bound: the measured rate of matrix multiplication
  lower bound: full peak
  textbook estimate: assumed MFU
)"));
}

TEST(PlanText, PutsAPredictionFirst) {
  const std::string text = PlanText(SampleOfStep(), kNow);
  EXPECT_THAT(text, HasSubstr("\n  time    2.31 days predicted (2.08 to 2.78); a step takes 10.0 s "
                              "(9.00 to 12.0), 7.5 % MFU; at\n"
                              "          least 4.17 hours (lower bound)\n"
                              "  run     "));
  EXPECT_THAT(text, HasSubstr("444 device-hours, 888.89 USD, 311.11 kWh\n"));
  EXPECT_THAT(text, HasSubstr("\n\nOne step: 10.0 s "));
  EXPECT_THAT(text, HasSubstr(R"(
                        predicted         lower bound  textbook estimate
  MFU                      7.50 %            100.00 %            40.00 %
  duration              2.31 days          4.17 hours        10.42 hours
  80 % interval      2.08 to 2.78
  device-hours             444.44               33.33              83.33
  throughput     100,000 tokens/s  1,333,333 tokens/s   533,333 tokens/s
  cost                 888.89 USD           66.67 USD         166.67 USD
  energy               311.11 kWh           23.33 kWh          58.33 kWh
  predicted: kernels, exchanges and schedule of the layout
)"));
}

// The derivation is asked for by a flag; the sample has one.
TEST(PlanText, ListsTheSoftwaresConstantsWithDetailsAlone) {
  v1::PlanRunResponse response = SampleOfStep();
  EXPECT_THAT(PlanText(response, kNow), HasSubstr("\nSoftware toy_stack"));
  response.mutable_plan()->clear_derivation();
  EXPECT_THAT(PlanText(response, kNow), Not(HasSubstr("\nSoftware toy_stack")));
  response.mutable_plan()->mutable_compute()->add_stages()->set_stage_count(1);
  EXPECT_THAT(PlanText(response, kNow), HasSubstr("\nSoftware toy_stack"));
}

// A request's own peak may be below what was measured: no time then contradicts another.
TEST(PlanText, ClaimsNoBoundBeyondTheLower) {
  v1::PlanRunResponse response = SampleMeasuredPlan();
  *MutableEstimate(*response.mutable_plan(), v1::ESTIMATE_KIND_LOWER_BOUND)
       .mutable_elapsed_seconds() = Exactly(60'000);
  EXPECT_THAT(PlanText(response, kNow),
              HasSubstr("  time    8.33 hours at the measured rate; at least 16.67 hours (lower "
                        "bound); "));
}

// A processor: no datasheet, hence no peak and no bound by it.
TEST(PlanText, DoesWithoutAPeak) {
  v1::PlanRunResponse response = SampleMeasuredPlan();
  v1::Plan* plan = response.mutable_plan();
  plan->mutable_estimates()->DeleteSubrange(0, 2);
  v1::TimeEstimate& bound = MutableEstimate(*plan, v1::ESTIMATE_KIND_MEASURED_BOUND);
  bound.clear_mfu();
  bound.clear_mfu_basis();
  const std::string text = PlanText(response, kNow);
  EXPECT_THAT(text, HasSubstr("  time    8.33 hours at the measured rate\n"));
  EXPECT_THAT(text, HasSubstr("                   measured bound\n"
                              "  MFU               no peak known\n"
                              "  of measured            100.00 %\n"));
  EXPECT_THAT(text, HasSubstr("\n  measured bound: the measured rate of matrix multiplication\n"));
  EXPECT_THAT(text, Not(HasSubstr("textbook")));
  EXPECT_THAT(text, Not(HasSubstr(" 0.00 %")));
}

TEST(PlanText, MakesUpNoTime) {
  v1::PlanRunResponse response = SampleResponse();
  response.mutable_plan()->clear_estimates();
  const std::string text = PlanText(response, kNow);
  EXPECT_THAT(text, HasSubstr("  time    unknown: no rate of these devices is known\n"));
  EXPECT_THAT(text, HasSubstr("stalls)\n  unknown: no rate of these devices is known\n"));
  EXPECT_THAT(text, Not(HasSubstr("0.00 s")));
}

// 6.35e24 FLOPs on one processor of 1 TFLOP/s: 1.76e9 device-hours, and 2.36 tokens a second.
TEST(PlanText, HasRoomForTheLargestRuns) {
  v1::Plan plan = SampleMeasuredPlan().plan();
  for (v1::TimeEstimate& estimate : *plan.mutable_estimates()) {
    *estimate.mutable_duration_seconds() = Exactly(6.35e12);
    *estimate.mutable_elapsed_seconds() = Exactly(6.35e12);
    estimate.set_device_hours(1763888888.89);
    estimate.set_tokens_per_second(0.00236);
    estimate.set_cost_usd(1763888888888.89);
  }
  const std::string text = CostSection(plan);
  EXPECT_THAT(text, Not(HasSubstr("...")));
  EXPECT_THAT(text, HasSubstr("1,763,888,888.89"));
  EXPECT_THAT(text, HasSubstr("0.00236 tokens/s"));
}

TEST(PlanText, ListsTheFieldsThatWereNotRead) {
  v1::PlanRunResponse response = SampleResponse();
  response.mutable_plan()->add_ignored_config_fields("torch_dtype");
  response.mutable_plan()->add_ignored_config_fields("use_cache");
  EXPECT_THAT(PlanText(response, kNow),
              HasSubstr("\nFields of config.json that were not read: look them over\n"
                        "  A field that only its author's code reads could change a count.\n"
                        "  torch_dtype, use_cache\n"));
}

// A lower bound is not a forecast, and neither is the textbook's estimate.
TEST(PlanText, PromisesNothing) {
  const std::string text = PlanText(SampleResponse(), kNow);
  EXPECT_THAT(text, Not(HasSubstr("expected")));
  EXPECT_THAT(text, Not(HasSubstr("predict")));
}

TEST(PlanText, CallsABareParameterCountByItsNumber) {
  v1::PlanRunResponse response = SampleResponse();
  v1::ParameterCounts* parameters = response.mutable_plan()->mutable_parameters();
  parameters->clear_embedding();
  parameters->clear_non_embedding();
  parameters->clear_components();
  EXPECT_THAT(PlanText(response, kNow),
              StartsWith("FITS: 1,000,000,000 parameters, 20,000,000,000 tokens, 8 x h100-sxm\n"));
}

TEST(PlanText, LeavesOutWhatABareParameterCountCannotKnow) {
  v1::PlanRunResponse response = SampleResponse();
  v1::ParameterCounts* parameters = response.mutable_plan()->mutable_parameters();
  parameters->clear_embedding();
  parameters->clear_non_embedding();
  parameters->clear_components();
  EXPECT_EQ(ModelSection(*parameters), "\nModel\n  total  1,000,000,000  parameters\n");
}

TEST(PlanText, SaysWhatWasNotCounted) {
  v1::Plan plan = SampleOfModelState().plan();
  MutableEstimate(plan, v1::ESTIMATE_KIND_LOWER_BOUND).clear_cost_usd();
  MutableEstimate(plan, v1::ESTIMATE_KIND_TEXTBOOK).clear_energy_joules();
  EXPECT_THAT(CostSection(plan),
              HasSubstr("cost                not counted          166.67 USD\n"));
  EXPECT_THAT(CostSection(plan),
              HasSubstr("energy                23.33 kWh         not counted\n"));
  plan.mutable_memory()->mutable_state()->set_activation_bytes(0);
  EXPECT_THAT(MemorySection(plan),
              HasSubstr("\n  activations                                 0.00 GiB\n"));
}

TEST(PlanText, TellsActiveAndTrainedParametersApart) {
  v1::ParameterCounts parameters;
  parameters.set_total(1000);
  parameters.set_active(1000);
  parameters.set_trainable(1000);
  EXPECT_EQ(ModelSection(parameters), "\nModel\n  total  1,000  parameters\n");
  parameters.set_active(600);
  parameters.set_trainable(10);
  parameters.set_padding(8);
  EXPECT_EQ(ModelSection(parameters), R"(
Model
  total      1,000  parameters
  active       600  that one token meets
  trainable     10
  padding        8  of the embedding
)");
}

TEST(PlanText, OmitsEmptySections) {
  const v1::Plan plan;
  EXPECT_EQ(RatesText(plan.rates(), plan.sources(), kNow) +
                NotesText("Assumptions", plan.assumptions(), PlanFieldWords) +
                IgnoredFieldsSection(plan.ignored_config_fields()) + DerivationSection(plan),
            "");
}

TEST(PlanText, ShowsFewBytesInFull) {
  v1::PlanRunResponse response = SampleResponse();
  *response.mutable_plan()->mutable_memory()->mutable_peak_bytes() = Exactly(1000);
  const std::string text = PlanText(response, kNow);
  EXPECT_THAT(text, HasSubstr("\n  memory  0.00 GiB (1,000 bytes) needed, 74.51 GiB usable"));
  EXPECT_THAT(text, HasSubstr("0.00 GiB (1,000 bytes)\n"));
}

v1::Note NoteOf(const std::string& text, const std::string& field) {
  v1::Note note;
  note.set_text(text);
  note.add_fields(field);
  return note;
}

// Whatever a server sends, in every field that holds text.
TEST(PlanText, NeverPasses99Columns) {
  v1::PlanRunResponse response = SampleMeasuredPlan();
  v1::Plan* plan = response.mutable_plan();
  const std::string word(240, 'w');
  std::string prose;
  for (int i = 0; i < 60; ++i) prose += "several words ";
  plan->set_device(word);
  plan->set_model_name(word);
  plan->mutable_memory()->mutable_state()->mutable_terms(0)->set_name(word);
  plan->mutable_parameters()->mutable_components(0)->set_name(word);
  plan->mutable_rates(0)->set_quantity(word);
  for (std::string& source : *plan->mutable_sources()) source = prose;
  plan->mutable_rates(1)->set_unit(word);
  plan->mutable_rates(2)->set_device_uuid(word);
  plan->mutable_rates(2)->mutable_measured_time()->set_seconds(int64_t{1} << 62);
  MutableEstimate(*plan, v1::ESTIMATE_KIND_MEASURED_BOUND).set_device_hours(1e300);
  plan->add_ignored_config_fields(word);
  *plan->add_assumptions() = NoteOf(prose, "several");
  *plan->add_warnings() = NoteOf(word, word);
  plan->mutable_derivation(0)->set_substitution(word);
  response.set_rates_fingerprint(word);
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(PlanText(response, kNow), '\n'))) {
    EXPECT_LE(line.size(), kTextWidth) << line;
  }
}

}  // namespace
}  // namespace sextant::client
