// Refusals of calibrations.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/matmul_kind.h"
#include "server/convert/calibration.h"
#include "tests/server/calibration_faults.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
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
  std::string text;
  v1::Calibration back;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(SampleCalibration(), &text).ok());
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &back).ok());
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

// The sample with an environment, in which every field has a value.
v1::Calibration FullSample() {
  v1::Calibration out = SampleCalibration();
  v1::MeasurementEnvironment& environment = *out.mutable_environment();
  for (const char* count :
       {"pcie_generation", "pcie_lane_count", "maximum_pcie_generation", "maximum_pcie_lane_count",
        "nvlink_count", "active_nvlink_count", "visible_device_count"}) {
    environment.GetReflection()->SetInt32(&environment,
                                          environment.GetDescriptor()->FindFieldByName(count), 4);
  }
  environment.set_application_sm_clock_hertz(1.7e9);
  environment.set_application_memory_clock_hertz(2.6e9);
  environment.set_default_power_limit_watts(700);
  environment.set_operating_system("Debian GNU/Linux 12 (bookworm)");
  environment.set_kernel_release("6.1.0");
  environment.set_c_library("glibc 2.36");
  environment.add_libraries("nccl 2.28.3");
  environment.mutable_guard_cost()->set_reading_count(1);
  environment.mutable_guard_cost()->set_total_seconds(2);
  environment.mutable_guard_cost()->set_longest_seconds(1);
  out.mutable_device()->set_power_limit_watts(700);
  return out;
}

// Calls `look` with each message in `message` and its path.
void ForEachMessage(Message* message, const std::string& path,
                    const std::function<void(Message*, const std::string&)>& look) {
  look(message, path);
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string below = absl::StrCat(path, ".", field->name());
    if (!field->is_repeated()) {
      ForEachMessage(reflection.MutableMessage(message, field), below, look);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      ForEachMessage(reflection.MutableRepeatedMessage(message, field, i),
                     absl::StrCat(below, "[", i, "]"), look);
    }
  }
}

// Changes of one field, none of which may pass.
std::vector<std::function<void(Message*)>> BadValuesOf(const FieldDescriptor* field) {
  using Change = std::function<void(Message*)>;
  // What the server fills is not looked at.
  if (field->name() == "accelerator" || field->name() == "datasheet_mfu") return {};
  const bool may_be_zero =
      field->name() == "layout" || field->name() == "window" || field->name() == "purpose";
  std::vector<Change> out;
  const auto whole = [&](int64_t value) {
    out.push_back([=](Message* m) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
        m->GetReflection()->SetInt64(m, field, value);
      } else {
        m->GetReflection()->SetInt32(m, field, static_cast<int32_t>(value));
      }
    });
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      for (const double bad : {-1e3, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300}) {
        out.push_back([=](Message* m) { m->GetReflection()->SetDouble(m, field, bad); });
      }
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      whole(INT64_MAX);
      whole(INT64_MIN);
      [[fallthrough]];
    case FieldDescriptor::CPPTYPE_INT32:
      whole(-1);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      for (const int bad : {99, -1, 0}) {
        if (bad == 0 && may_be_zero) continue;
        out.push_back([=](Message* m) { m->GetReflection()->SetEnumValue(m, field, bad); });
      }
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      for (const std::string& bad : {std::string("\x1b[2J"), std::string(1025, 'x')}) {
        out.push_back([=](Message* m) { m->GetReflection()->SetString(m, field, bad); });
      }
      break;
    default:
      break;
  }
  static const auto& required = *new std::set<std::string>{
      "uuid", "product_name", "probe_version", "engine", "instruction",  "phase",
      "time", "unfused_time", "fused_time",    "device", "measured_time"};
  const bool is_size = field->name() == "m" || field->name() == "n" || field->name() == "k";
  if (required.count(field->name()) > 0 || is_size) {
    out.push_back([=](Message* m) { m->GetReflection()->ClearField(m, field); });
  }
  return out;
}

TEST(CheckCalibration, NamesEachFieldWithAnImpossibleValue) {
  v1::Calibration c = FullSample();
  ASSERT_THAT(FaultyFields(c), IsEmpty());
  int count = 0;
  ForEachMessage(&c, "c", [&](Message* message, const std::string& path) {
    const std::unique_ptr<Message> good(message->New());
    good->CopyFrom(*message);
    std::vector<const FieldDescriptor*> fields;
    message->GetReflection()->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->is_repeated()) continue;
      for (const auto& change : BadValuesOf(field)) {
        change(message);
        EXPECT_THAT(FaultyFields(c), Contains(absl::StrCat(path, ".", field->name())))
            << message->ShortDebugString();
        message->CopyFrom(*good);
        ++count;
      }
    }
  });
  EXPECT_GT(count, 300);
}

struct Fault {
  const char* field;
  CalibrationChange change;
};

// Values that are wrong next to others, at the ends of their ranges, or in lists.
TEST(CheckCalibration, NamesTheFieldAtFault) {
  using Layout = v1::MatmulMeasurement;
  const Fault faults[] = {
      {"c.device.uuid", [](auto& c) { c.mutable_device()->set_uuid("../x"); }},
      {"c.device.uuid", [](auto& c) { c.mutable_device()->set_uuid(std::string(81, 'a')); }},
      {"c.device.product_name",
       [](auto& c) { c.mutable_device()->set_product_name(std::string(257, 'x')); }},
      {"c.device.cache_bytes", [](auto& c) { c.mutable_device()->set_cache_bytes(0); }},
      {"c.device.power_limit_watts", [](auto& c) { c.mutable_device()->set_power_limit_watts(0); }},
      {"c.device.compute_unit_count",
       [](auto& c) { c.mutable_device()->set_compute_unit_count(0); }},
      {"c.device.instruction_sets[1]",
       [](auto& c) { *c.mutable_device()->mutable_instruction_sets(1) = std::string("\t"); }},
      {"c.measured_time.seconds", [](auto& c) { c.mutable_measured_time()->set_seconds(12345); }},
      {"c.duration_seconds", [](auto& c) { c.set_duration_seconds(0); }},
      {"c.coverage_ratio", [](auto& c) { c.set_coverage_ratio(1.01); }},
      {"c.drift_ratio", [](auto& c) { c.set_drift_ratio(-2); }},
      {"c.matmuls[0].register_ratio", [](auto& c) { c.mutable_matmuls(0)->set_register_ratio(0); }},
      {"c.matmuls[0].time.p10_seconds",
       [](auto& c) { c.mutable_matmuls(0)->mutable_time()->set_p10_seconds(0.002); }},
      {"c.matmuls[0].time.p90_seconds",
       [](auto& c) { c.mutable_matmuls(0)->mutable_time()->set_p90_seconds(0.0009); }},
      {"c.matmuls[0].time.sample_count",
       [](auto& c) { c.mutable_matmuls(0)->mutable_time()->set_sample_count(0); }},
      {"c.fusion.operation_count", [](auto& c) { c.mutable_fusion()->set_operation_count(1); }},
      {"c.checked_result_count", [](auto& c) { c.set_checked_result_count(0); }},
      {"c.notes[0]", [](auto& c) { c.set_notes(0, std::string(1025, 'n')); }},
      {"c.matmuls[0].layout",
       [](auto& c) { c.mutable_matmuls(0)->set_layout(Layout::LAYOUT_COLUMN_BY_ROW); }},
      {"c.matmuls[3].layout",
       [](auto& c) { c.mutable_matmuls(3)->set_layout(Layout::LAYOUT_ROW_BY_ROW); }},
      {"c.matmuls[0].batch_count",
       [](auto& c) {
         c.mutable_matmuls(0)->set_batch_count(2);
         c.mutable_matmuls(0)->set_flops_per_second(4e12);
       }},
      {"c.matmuls[3].purpose",
       [](auto& c) {
         c.mutable_matmuls(3)->set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
       }},
      {"c.matmuls[3].purpose",
       [](auto& c) { c.mutable_matmuls(3)->set_purpose(v1::MatmulMeasurement::PURPOSE_OTHER); }},
      {"c.matmuls[4].purpose",
       [](auto& c) { c.mutable_matmuls(4)->set_window(v1::MatmulMeasurement::WINDOW_SUSTAINED); }},
      {"c.launches[1].kind", [](auto& c) { *c.add_launches() = c.launches(0); }},
      {"c.missing[0].missing_count", [](auto& c) { c.mutable_missing(0)->set_missing_count(0); }},
      {"c.missing[0].planned_count", [](auto& c) { c.mutable_missing(0)->set_planned_count(2); }},
      {"c.conditions.reading_count",
       [](auto& c) { c.mutable_conditions()->clear_reading_count(); }},
      {"c.conditions.sm_clock_hertz",
       [](auto& c) { c.mutable_conditions()->set_sm_clock_hertz(0); }},
      {"c.conditions.hardware_throttle_ratio",
       [](auto& c) { c.mutable_conditions()->set_hardware_throttle_ratio(1.01); }},
      {"c.conditions.peak_allocated_bytes",
       [](auto& c) { c.mutable_conditions()->set_peak_allocated_bytes(0); }},
      {"c.environment.pcie_generation",
       [](auto& c) { c.mutable_environment()->set_pcie_generation(17); }},
      {"c.environment.maximum_pcie_lane_count",
       [](auto& c) { c.mutable_environment()->set_maximum_pcie_lane_count(65); }},
      {"c.environment.active_nvlink_count",
       [](auto& c) {
         c.mutable_environment()->set_nvlink_count(18);
         c.mutable_environment()->set_active_nvlink_count(19);
       }},
      {"c.environment.visible_device_count",
       [](auto& c) { c.mutable_environment()->set_visible_device_count(0); }},
      {"c.environment.libraries[1]",
       [](auto& c) {
         c.mutable_environment()->add_libraries("nccl 2.28.3");
         c.mutable_environment()->add_libraries(std::string(257, 'x'));
       }},
      {"c.environment.cleared_variables",
       [](auto& c) {
         for (int i = 0; i < 33; ++i) c.mutable_environment()->add_cleared_variables("NCCL_A=1");
       }},
      {"c.attentions[0].kv_heads", [](auto& c) { c.mutable_attentions(0)->set_kv_heads(3); }},
      {"c.experts[0].experts_per_token",
       [](auto& c) { c.mutable_experts(0)->set_experts_per_token(5); }},
      {"c.experts[0].expert_parallel_size",
       [](auto& c) { c.mutable_experts(0)->set_expert_parallel_size(3); }},
      {"c.collectives[0].rank_count", [](auto& c) { c.mutable_collectives(0)->set_rank_count(1); }},
      {"c.collectives[0].size_bytes", [](auto& c) { c.mutable_collectives(0)->set_size_bytes(0); }},
  };
  for (const Fault& fault : faults) {
    EXPECT_THAT(FaultyFields(ChangedSample(fault.change)), Contains(fault.field)) << fault.field;
  }
}

// A batch in another layout is neither a point of the grid nor a shape that somebody asked for.
TEST(CheckCalibration, ABatchInAnotherLayoutHasItsOwnPurpose) {
  for (const auto purpose :
       {v1::MatmulMeasurement::PURPOSE_UNSPECIFIED, v1::MatmulMeasurement::PURPOSE_GRID,
        v1::MatmulMeasurement::PURPOSE_REQUESTED}) {
    v1::Calibration c = SampleCalibration();
    c.mutable_matmuls(4)->set_purpose(purpose);
    EXPECT_THAT(FaultyFields(c), ElementsAre("c.matmuls[4].batch_count", "c.matmuls[4].layout"));
    EXPECT_THAT(CalibrationFaults(c)[0].description, HasSubstr("except with PURPOSE_OTHER"));
  }
  v1::Calibration sustained = SampleCalibration();
  sustained.mutable_matmuls(3)->set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
  EXPECT_EQ(CalibrationFaults(sustained)[0].description,
            "must be PURPOSE_GRID with WINDOW_SUSTAINED, not PURPOSE_REQUESTED");
}

TEST(CheckCalibration, MayTellOfItsEnvironment) {
  v1::Calibration c = SampleCalibration();
  v1::MeasurementEnvironment* const environment = c.mutable_environment();
  EXPECT_THAT(FaultyFields(c), IsEmpty()) << "or nothing";
  environment->set_pcie_generation(5);
  environment->set_nvlink_count(18);
  environment->set_active_nvlink_count(0);
  environment->set_operating_system("Debian GNU/Linux 12 (bookworm)");
  for (int i = 0; i < 32; ++i) environment->add_cleared_variables(std::string(256, 'x'));
  environment->mutable_guard_cost()->set_reading_count(1);
  EXPECT_THAT(FaultyFields(c), IsEmpty());
}

TEST(CheckCalibration, MayTellNothingOfItself) {
  v1::Calibration c = SampleCalibration();
  c.mutable_conditions()->Clear();
  c.mutable_conditions()->set_reading_count(1);
  c.clear_launches();
  RemoveMatmuls(IsOther, &c);
  EXPECT_THAT(FaultyFields(c), IsEmpty());
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
      {"c.attentions[0].flops_per_second",
       [](auto& c) { c.mutable_attentions(0)->set_pass(v1::AttentionMeasurement::PASS_BACKWARD); }},
      {"c.attentions[0].flops_per_second",
       [](auto& c) { c.mutable_attentions(0)->clear_window(); }},
      {"c.experts[0].flops_per_second", [](auto& c) { c.mutable_experts(0)->clear_gated(); }},
      {"c.collectives[0].bus_bytes_per_second",
       [](auto& c) { c.mutable_collectives(0)->set_bus_bytes_per_second(1e9); }},
      {"c.host_copies[0].bytes_per_second",
       [](auto& c) { c.mutable_host_copies(0)->set_size_bytes(2'000'000); }},
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

}  // namespace
}  // namespace sextant::server
