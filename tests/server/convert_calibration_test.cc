#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/plan.h"
#include "proto/matmul_kind.h"
#include "server/convert/calibration.h"
#include "server/convert/run_spec.h"
#include "tests/server/calibration_faults.h"
#include "tests/server/device_finder.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(CheckCalibration, FindsNothingInAGoodOne) {
  EXPECT_THAT(FaultyFields(SampleCalibration()), IsEmpty());
  v1::Calibration bare = SampleCalibration();
  bare.clear_matmuls();
  bare.clear_registers();
  bare.clear_streams();
  bare.clear_elementwise();
  bare.clear_fusion();
  bare.clear_ridge_flops_per_byte();
  bare.clear_drift_ratio();
  bare.clear_notes();
  EXPECT_THAT(FaultyFields(bare), IsEmpty());
}

// A calibration printed by the probe is read back unchanged, with the same name.
TEST(CheckCalibration, FindsNothingAfterAWayThroughJson) {
  std::string json;
  v1::Calibration back;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(SampleCalibration(), &json).ok());
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &back).ok());
  EXPECT_THAT(FaultyFields(back), IsEmpty());
  EXPECT_EQ(CalibrationFingerprint(back), CalibrationFingerprint(SampleCalibration()));
}

TEST(CheckCalibration, NamesAllThatAnEmptyOneLacks) {
  EXPECT_THAT(FaultyFields(v1::Calibration()),
              ElementsAre("c.schema_version", "c.device", "c.measured_time", "c.probe_version",
                          "c.mode", "c.duration_seconds", "c.checked_result_count"));
  EXPECT_THAT(FaultyFields(ChangedSample([](v1::Calibration& c) { c.mutable_device()->Clear(); })),
              ElementsAre("c.device.uuid", "c.device.kind", "c.device.product_name",
                          "c.device.memory_bytes"));
}

TEST(CheckCalibration, ReadsItsOwnSchemaAlone) {
  for (const int version : {-1, 0, 1, 3, 99}) {
    v1::Calibration c = SampleCalibration();
    c.set_schema_version(version);
    EXPECT_THAT(FaultyFields(c), ElementsAre("c.schema_version")) << version;
  }
  v1::Calibration newer = SampleCalibration();
  newer.set_schema_version(3);
  newer.mutable_matmuls(0)->set_m(-1);  // may have another meaning in that schema
  ASSERT_THAT(CalibrationFaults(newer), SizeIs(1));
  EXPECT_THAT(CalibrationFaults(newer)[0].description, HasSubstr("newer than this server"));
}

struct Fault {
  const char* field;
  CalibrationChange change;
};

TEST(CheckCalibration, NamesTheFieldAtFault) {
  const Fault faults[] = {
      {"c.device.uuid", [](auto& c) { c.mutable_device()->set_uuid("../../etc/passwd"); }},
      {"c.device.uuid", [](auto& c) { c.mutable_device()->set_uuid(std::string(81, 'a')); }},
      {"c.device.kind", [](auto& c) { c.mutable_device()->set_kind(v1::DeviceKind(9)); }},
      {"c.device.product_name",
       [](auto& c) { c.mutable_device()->set_product_name(std::string(257, 'x')); }},
      {"c.device.product_name", [](auto& c) { c.mutable_device()->set_product_name("\x1b[2J"); }},
      {"c.device.hostname", [](auto& c) { c.mutable_device()->set_hostname("a\nb"); }},
      {"c.device.memory_bytes", [](auto& c) { c.mutable_device()->set_memory_bytes(-1); }},
      {"c.device.memory_bytes", [](auto& c) { c.mutable_device()->set_memory_bytes(INT64_MAX); }},
      {"c.device.cache_bytes", [](auto& c) { c.mutable_device()->set_cache_bytes(0); }},
      {"c.device.power_limit_watts", [](auto& c) { c.mutable_device()->set_power_limit_watts(0); }},
      {"c.device.power_limit_watts",
       [](auto& c) { c.mutable_device()->set_power_limit_watts(HUGE_VAL); }},
      {"c.device.compute_unit_count",
       [](auto& c) { c.mutable_device()->set_compute_unit_count(0); }},
      {"c.device.instruction_sets[1]",
       [](auto& c) { *c.mutable_device()->mutable_instruction_sets(1) = std::string("\t"); }},
      {"c.measured_time.seconds", [](auto& c) { c.mutable_measured_time()->set_seconds(12345); }},
      {"c.measured_time.seconds",
       [](auto& c) { c.mutable_measured_time()->set_seconds(INT64_MAX); }},
      {"c.measured_time.nanos", [](auto& c) { c.mutable_measured_time()->set_nanos(-1); }},
      {"c.probe_version", [](auto& c) { c.clear_probe_version(); }},
      {"c.mode", [](auto& c) { c.set_mode(v1::ProbeMode(77)); }},
      {"c.duration_seconds", [](auto& c) { c.set_duration_seconds(0); }},
      {"c.coverage_ratio", [](auto& c) { c.set_coverage_ratio(1.01); }},
      {"c.drift_ratio", [](auto& c) { c.set_drift_ratio(-2); }},
      {"c.matmuls[1].data_type", [](auto& c) { c.mutable_matmuls(1)->clear_data_type(); }},
      {"c.matmuls[1].data_type",
       [](auto& c) { c.mutable_matmuls(1)->set_data_type(v1::DataType(99)); }},
      {"c.matmuls[1].m", [](auto& c) { c.mutable_matmuls(1)->set_m(0); }},
      {"c.matmuls[1].k", [](auto& c) { c.mutable_matmuls(1)->set_k(INT64_MIN); }},
      {"c.matmuls[1].time", [](auto& c) { c.mutable_matmuls(1)->clear_time(); }},
      {"c.matmuls[1].engine", [](auto& c) { c.mutable_matmuls(1)->clear_engine(); }},
      {"c.matmuls[0].register_ratio", [](auto& c) { c.mutable_matmuls(0)->set_register_ratio(0); }},
      {"c.matmuls[0].time.p10_seconds",
       [](auto& c) { c.mutable_matmuls(0)->mutable_time()->set_p10_seconds(0.002); }},
      {"c.matmuls[0].time.p90_seconds",
       [](auto& c) { c.mutable_matmuls(0)->mutable_time()->set_p90_seconds(0.0009); }},
      {"c.matmuls[0].time.sample_count",
       [](auto& c) { c.mutable_matmuls(0)->mutable_time()->set_sample_count(0); }},
      {"c.matmuls[0].time.repetition_count",
       [](auto& c) { c.mutable_matmuls(0)->mutable_time()->set_repetition_count(-3); }},
      {"c.matmuls[3].time.relative_spread",
       [](auto& c) { c.mutable_matmuls(3)->mutable_time()->set_relative_spread(-0.1); }},
      {"c.registers[0].instruction", [](auto& c) { c.mutable_registers(0)->clear_instruction(); }},
      {"c.streams[0].operation",
       [](auto& c) {
         c.mutable_streams(0)->set_operation(v1::StreamMeasurement::Operation(8));
         c.mutable_streams(0)->set_bytes_per_second(1e10);
       }},
      {"c.streams[0].array_bytes", [](auto& c) { c.mutable_streams(0)->set_array_bytes(0); }},
      {"c.elementwise[0].multiply_add_count",
       [](auto& c) { c.mutable_elementwise(0)->set_multiply_add_count(0); }},
      {"c.ridge_flops_per_byte", [](auto& c) { c.set_ridge_flops_per_byte(-1); }},
      {"c.fusion.operation_count", [](auto& c) { c.mutable_fusion()->set_operation_count(1); }},
      {"c.checked_result_count", [](auto& c) { c.set_checked_result_count(0); }},
      {"c.notes[0]", [](auto& c) { c.set_notes(0, std::string(1025, 'n')); }},
  };
  for (const Fault& fault : faults) {
    EXPECT_THAT(FaultyFields(ChangedSample(fault.change)), ElementsAre(fault.field)) << fault.field;
  }
}

// All measured times count, the two of the fusion apart.
TEST(DeviceModelFrom, CountsStablePoints) {
  v1::Calibration calibration = SampleCalibration();
  const DeviceCalibration sample = DeviceModelFrom(calibration, "")->calibration();
  EXPECT_EQ(sample.drift_ratio, -0.01);
  int64_t count = calibration.matmuls_size() + calibration.registers_size() +
                  calibration.attentions_size() + calibration.experts_size() +
                  calibration.streams_size() + calibration.elementwise_size() +
                  calibration.launches_size() + calibration.collectives_size() +
                  calibration.host_copies_size() + 2;
  EXPECT_EQ(sample.point_count, count);
  v1::TimeStatistics& time = *calibration.mutable_fusion()->mutable_fused_time();
  time.set_stable(!time.stable());
  EXPECT_EQ(DeviceModelFrom(calibration, "")->calibration().stable_point_count,
            sample.stable_point_count + (time.stable() ? 1 : -1));
}

// Each real number in turn, set to an impossible value.
TEST(CheckCalibration, NoRealNumberMayBeNegativeInfiniteOrNoNumber) {
  using Set = std::function<void(v1::Calibration&, double)>;
  const std::pair<const char*, Set> fields[] = {
      {"c.duration_seconds", [](auto& c, double v) { c.set_duration_seconds(v); }},
      {"c.coverage_ratio", [](auto& c, double v) { c.set_coverage_ratio(v); }},
      {"c.matmuls[0].flops_per_second",
       [](auto& c, double v) { c.mutable_matmuls(0)->set_flops_per_second(v); }},
      {"c.matmuls[0].time.median_seconds",
       [](auto& c, double v) { c.mutable_matmuls(0)->mutable_time()->set_median_seconds(v); }},
      {"c.matmuls[0].time.relative_spread",
       [](auto& c, double v) { c.mutable_matmuls(0)->mutable_time()->set_relative_spread(v); }},
      {"c.matmuls[0].time.p10_seconds",
       [](auto& c, double v) { c.mutable_matmuls(0)->mutable_time()->set_p10_seconds(v); }},
      {"c.matmuls[0].time.p90_seconds",
       [](auto& c, double v) { c.mutable_matmuls(0)->mutable_time()->set_p90_seconds(v); }},
      {"c.registers[0].flops_per_second",
       [](auto& c, double v) { c.mutable_registers(0)->set_flops_per_second(v); }},
      {"c.streams[0].bytes_per_second",
       [](auto& c, double v) { c.mutable_streams(0)->set_bytes_per_second(v); }},
      {"c.elementwise[0].flops_per_byte",
       [](auto& c, double v) { c.mutable_elementwise(0)->set_flops_per_byte(v); }},
      {"c.elementwise[0].flops_per_second",
       [](auto& c, double v) { c.mutable_elementwise(0)->set_flops_per_second(v); }},
      {"c.elementwise[0].bytes_per_second",
       [](auto& c, double v) { c.mutable_elementwise(0)->set_bytes_per_second(v); }},
      {"c.ridge_flops_per_byte", [](auto& c, double v) { c.set_ridge_flops_per_byte(v); }},
      {"c.fusion.speedup_ratio",
       [](auto& c, double v) { c.mutable_fusion()->set_speedup_ratio(v); }},
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [field, set] : fields) {
    for (const double bad : {-1.0, std::nan(""), infinity, -infinity, 1e300}) {
      v1::Calibration c = SampleCalibration();
      set(c, bad);
      EXPECT_THAT(FaultyFields(c), Contains(field)) << bad;
    }
  }
}

// A rate that disagrees with its own shape and time is a mistake.
TEST(CheckCalibration, RatesFollowFromShapesAndTimes) {
  const Fault faults[] = {
      {"c.matmuls[0].flops_per_second",
       [](auto& c) { c.mutable_matmuls(0)->set_flops_per_second(2.03e12); }},
      {"c.matmuls[0].flops_per_second", [](auto& c) { c.mutable_matmuls(0)->set_m(999 / 2); }},
      {"c.streams[0].bytes_per_second",
       [](auto& c) { c.mutable_streams(0)->set_bytes_per_second(2e10); }},
      {"c.elementwise[0].flops_per_byte",
       [](auto& c) { c.mutable_elementwise(0)->set_flops_per_byte(2); }},
      {"c.elementwise[0].flops_per_second",
       [](auto& c) { c.mutable_elementwise(0)->set_flops_per_second(4e10); }},
      {"c.elementwise[0].bytes_per_second",
       [](auto& c) { c.mutable_elementwise(0)->set_bytes_per_second(1e10); }},
      {"c.fusion.speedup_ratio", [](auto& c) { c.mutable_fusion()->set_speedup_ratio(2); }},
  };
  for (const Fault& fault : faults) {
    EXPECT_THAT(FaultyFields(ChangedSample(fault.change)), ElementsAre(fault.field));
  }
  // Within 1 % it may be rounded.
  EXPECT_THAT(FaultyFields(ChangedSample(
                  [](v1::Calibration& c) { c.mutable_matmuls(0)->set_flops_per_second(2.01e12); })),
              IsEmpty());
}

// A copy reads and writes one array each; the triad reads two and writes one.
TEST(CheckCalibration, CountsTheArraysOfEachStream) {
  const std::pair<v1::StreamMeasurement::Operation, double> arrays[] = {
      {v1::StreamMeasurement::OPERATION_READ, 1},  {v1::StreamMeasurement::OPERATION_WRITE, 1},
      {v1::StreamMeasurement::OPERATION_COPY, 2},  {v1::StreamMeasurement::OPERATION_SCALE, 2},
      {v1::StreamMeasurement::OPERATION_TRIAD, 3},
  };
  ASSERT_EQ(std::size(arrays) + 1,
            static_cast<size_t>(v1::StreamMeasurement::Operation_descriptor()->value_count()));
  for (const auto& [operation, count] : arrays) {
    v1::Calibration c = SampleCalibration();
    c.mutable_streams(0)->set_operation(operation);
    c.mutable_streams(0)->set_bytes_per_second(count * 1e10);
    EXPECT_THAT(FaultyFields(c), IsEmpty()) << operation;
  }
}

// A request of a megabyte holds half a million empty elements, each wrong in many ways.
TEST(CheckCalibration, LooksNoFurtherThanIsOfUse) {
  v1::Calibration c = SampleCalibration();
  for (int i = c.matmuls_size(); i < 2048; ++i) c.add_matmuls();
  EXPECT_GT(CalibrationFaults(c).size(), 40u);
  EXPECT_LT(CalibrationFaults(c).size(), 100u);
  c.add_matmuls();
  ASSERT_THAT(CalibrationFaults(c), SizeIs(1));
  EXPECT_EQ(CalibrationFaults(c)[0].field, "c.matmuls");
}

// Broken copies of a good calibration: those that are accepted give finite plans.
TEST(CheckCalibration, LetsNothingThroughThatBreaksAPlan) {
  const google::protobuf::LogSilencer quiet;
  std::mt19937 random(11);
  const std::string bytes = SampleCalibration().SerializeAsString();
  int let_through = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string mutated = bytes;
    for (int flips = 0; flips < 2; ++flips) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    v1::PlanRunRequest request;
    request.mutable_model()->set_parameter_count(1'000'000'000);
    request.mutable_training()->set_token_count(20'000'000'000);
    request.mutable_cluster()->set_device_count(1);
    request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
    request.mutable_options()->set_include_derivation(true);
    auto* calibrations = request.mutable_cluster()->mutable_device()->mutable_calibrations();
    if (!calibrations->add_calibrations()->ParsePartialFromString(mutated)) continue;
    FieldViolations violations;
    SuppliedCalibrations supplied;
    const RunSpec run = RunSpecFrom(request, FinderOf(supplied), violations);
    const auto plan = PlanRun(run, std::move(violations));
    (plan.ok() ? let_through : refused)++;
    if (!plan.ok()) continue;
    for (const DerivationStep& step : plan->derivation) {
      EXPECT_TRUE(std::isfinite(step.value)) << step.symbol;
    }
  }
  EXPECT_GT(let_through, 100);
  EXPECT_GT(refused, 100);
}

TEST(CalibrationFingerprint, ForgetsWhatTheServerFills) {
  v1::Calibration annotated = SampleCalibration();
  annotated.mutable_device()->set_accelerator("h100-sxm");
  annotated.mutable_matmuls(0)->set_datasheet_mfu(0.7);
  annotated.mutable_matmuls(3)->set_datasheet_mfu(0.6);
  EXPECT_EQ(CalibrationFingerprint(annotated), CalibrationFingerprint(SampleCalibration()));
  EXPECT_EQ(CalibrationFingerprint(annotated).size(), 16u);
}

TEST(CalibrationFingerprint, SeesEverythingElse) {
  const CalibrationChange changes[] = {
      [](auto& c) { c.mutable_device()->set_hostname("node-8"); },
      [](auto& c) { c.mutable_measured_time()->set_nanos(6); },
      [](auto& c) { c.mutable_matmuls(0)->set_flops_per_second(2.0001e12); },
      [](auto& c) { c.mutable_attentions(0)->set_flops_per_second(1.95e11); },
      [](auto& c) { c.clear_host_copies(); },
      [](auto& c) { c.set_notes(0, "The processor was busy."); },
  };
  for (const CalibrationChange& change : changes) {
    EXPECT_NE(CalibrationFingerprint(ChangedSample(change)),
              CalibrationFingerprint(SampleCalibration()));
  }
}

TEST(DeviceModelFrom, CarriesWhatPlansUse) {
  const v1::Calibration wire = SampleCalibration();
  const DeviceCalibration c = DeviceModelFrom(wire, "abc")->calibration();
  EXPECT_EQ(c.uuid, "CPU-0123456789abcdef");
  EXPECT_EQ(c.product_name, "Some Processor 9000");
  EXPECT_TRUE(c.processor);
  EXPECT_EQ(c.accelerator, nullptr);
  EXPECT_EQ(c.memory, Bytes(64'000'000'000));
  EXPECT_EQ(c.measured_unix_seconds, 1'769'860'800);
  EXPECT_EQ(c.probe_version, "sextant-probe 0.1.0");
  EXPECT_EQ(c.fingerprint, "abc");
  EXPECT_EQ(c.coverage_ratio, 1);
  const MeasuredMatmul* bf16 = c.MatmulIn(DataType::kBf16);
  ASSERT_NE(bf16, nullptr);
  EXPECT_TRUE(bf16->sustained);
  EXPECT_EQ(bf16->rate, FlopsPerSecond(1.6e12));
  EXPECT_EQ(bf16->k, 800);
  const MeasuredMatmul* fp32 = c.MatmulIn(DataType::kFp32);
  ASSERT_NE(fp32, nullptr);
  EXPECT_FALSE(fp32->sustained);
  EXPECT_TRUE(fp32->stable);
  EXPECT_EQ(fp32->m, 1000);
  EXPECT_EQ(fp32->n, 1000);
  EXPECT_EQ(fp32->k, 500);
  EXPECT_EQ(fp32->sample_count, 12);
  EXPECT_EQ(fp32->relative_spread, 0.01);
  EXPECT_EQ(fp32->engine, "builtin");
}

// A requested shape is not the device's best, however fast: here it is the fastest.
TEST(DeviceModelFrom, PassesOverShapesThatWereAskedFor) {
  v1::Calibration wire = SampleCalibration();
  const DeviceCalibration mixed = DeviceModelFrom(wire, "")->calibration();
  EXPECT_EQ(mixed.MatmulIn(DataType::kFp32)->rate, FlopsPerSecond(1e12));
  EXPECT_EQ(mixed.requested_matmul_count, 1);
  RemoveMatmuls(IsSustained, &wire);
  for (auto& matmul : *wire.mutable_matmuls()) {
    matmul.set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
  }
  const DeviceCalibration requested = DeviceModelFrom(wire, "")->calibration();
  EXPECT_TRUE(requested.matmuls.empty());
  EXPECT_EQ(requested.requested_matmul_count, 4);
}

TEST(DeviceModelFrom, FindsTheDatasheetByTheReportedName) {
  v1::Calibration wire = SampleCalibration("GPU-1");
  wire.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  wire.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  // The server's own annotation is not trusted when it comes from outside.
  wire.mutable_device()->set_accelerator("a100-sxm-80");
  const DeviceCalibration c = DeviceModelFrom(wire, "")->calibration();
  EXPECT_FALSE(c.processor);
  ASSERT_NE(c.accelerator, nullptr);
  EXPECT_EQ(c.accelerator->name, "h100-sxm");
}

}  // namespace
}  // namespace sextant::server
