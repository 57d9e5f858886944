// Refusals of calibrations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/links/collective.h"
#include "proto/check/calibration.h"
#include "server/convert/calibration.h"
#include "tests/server/json_call.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_values.h"
#include "tests/support/source_folder.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using nlohmann::json;
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
  bare.mutable_conditions()->Clear();
  bare.mutable_conditions()->set_reading_count(1);
  bare.clear_launches();
  EXPECT_THAT(FaultyFields(bare), IsEmpty());
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

// Values that are wrong next to others, at the ends of their ranges, or in lists, and rates that
// disagree with their own shape and time. "alone": no other field is invalid.
TEST(CheckCalibration, NamesTheFieldAtFault) {
  const json good = json::parse(JsonOf(SampleCalibration()));
  std::ifstream file(SourceFolder() + "/tests/server/calibration_cases.jsonl");
  ASSERT_TRUE(file);
  for (std::string text; std::getline(file, text);) {
    SCOPED_TRACE(text);
    const json line = json::parse(text);
    const std::vector<std::string> fields =
        FaultyFields(MessageOf<v1::Calibration>(WithChanges(good, line["set"]).dump()));
    EXPECT_THAT(fields, Contains(absl::StrCat("c.", line["field"].get<std::string>())));
    EXPECT_TRUE(!line.contains("alone") || fields.size() == 1) << fields.size();
  }
  // Within 1 % a rate may be rounded.
  EXPECT_THAT(FaultyFields(ChangedSample(
                  [](v1::Calibration& c) { c.mutable_matmuls(0)->set_flops_per_second(2.01e12); })),
              IsEmpty());
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
  environment->set_nvlink_count(18);
  environment->set_active_nvlink_count(0);
  for (int i = 0; i < 32; ++i) environment->add_cleared_variables(std::string(256, 'x'));
  environment->mutable_guard_cost()->set_reading_count(1);
  EXPECT_THAT(FaultyFields(c), IsEmpty());
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
  EXPECT_THAT(FaultyFields(c), ElementsAre("c.matmuls"));
  for (int i = c.attentions_size(); i <= 512; ++i) c.add_attentions();
  EXPECT_THAT(FaultyFields(c), Contains("c.attentions"));
  EXPECT_LT(CalibrationFaults(c).size(), 100u);
}

TEST(CheckKernels, NoTwoMayBeOfOneShape) {
  v1::Calibration c = SampleCalibration();
  *c.add_attentions() = c.attentions(0);
  *c.add_experts() = c.experts(0);
  *c.add_collectives() = c.collectives(0);
  *c.add_host_copies() = c.host_copies(0);
  EXPECT_THAT(FaultyFields(c), ElementsAre("c.attentions[1]", "c.experts[1]", "c.collectives[1]",
                                           "c.host_copies[1]"));
  EXPECT_THAT(CalibrationFaults(c)[0].description,
              HasSubstr("is of the same work as an earlier one"));
  c.mutable_attentions(1)->set_training_pass(v1::AttentionMeasurement::PASS_BACKWARD);
  c.mutable_attentions(1)->set_flops_per_second(2.5 * c.attentions(0).flops_per_second());
  c.mutable_experts(1)->set_data_type(v1::DATA_TYPE_FP16);
  c.mutable_collectives(1)->set_operation(v1::COLLECTIVE_OPERATION_REDUCE_SCATTER);
  c.mutable_host_copies(1)->set_pageable(false);
  EXPECT_THAT(FaultyFields(c), IsEmpty());
}

// Shortens the time of `m` so that its rate grows by `factor`.
template <typename Measurement>
void Hasten(Measurement* m, double factor) {
  v1::TimeStatistics* time = m->mutable_time();
  time->set_median_seconds(time->median_seconds() / factor);
  time->set_p10_seconds(time->p10_seconds() / factor);
  time->set_p90_seconds(time->p90_seconds() / factor);
}

// An H100: 989.4e12 FLOP/s in bf16, 3.35e12 bytes a second; 10 % more is allowed.
TEST(CheckKernels, NothingIsFasterThanTheProductCanBe) {
  const auto faults = [](double times_the_limit) {
    v1::Calibration c = SampleCalibration("GPU-1");
    c.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
    c.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
    const double peak = 989.4e12 * times_the_limit;
    const double memory = 3.35e12 * times_the_limit;
    v1::AttentionMeasurement* attention = c.mutable_attentions(0);
    attention->set_sequence_length(100000);
    attention->clear_window();
    attention->set_flops_per_second(2 * 128 * 8 * (100000.0 * 100001 / 2) / 1e-3);
    v1::ExpertsMeasurement* experts = c.mutable_experts(0);
    v1::CollectiveMeasurement* collective = c.mutable_collectives(0);
    v1::HostCopyMeasurement* copy = c.mutable_host_copies(0);
    Hasten(attention, peak / attention->flops_per_second());
    Hasten(experts, peak / experts->flops_per_second());
    collective->set_size_bytes(1'000'000'000'000);
    collective->set_bus_bytes_per_second(7.5e14);
    Hasten(collective, memory / collective->bus_bytes_per_second());
    Hasten(copy, memory / copy->bytes_per_second());
    attention->set_flops_per_second(peak);
    experts->set_flops_per_second(peak);
    collective->set_bus_bytes_per_second(memory);
    copy->set_bytes_per_second(memory);
    return CalibrationFaults(c);
  };
  EXPECT_THAT(faults(1.09), IsEmpty());
  const std::vector<FieldViolation> above = faults(1.11);
  ASSERT_THAT(above, SizeIs(4));
  EXPECT_EQ(above[0].field, "c.attentions[0].time.median_seconds");
  EXPECT_THAT(above[0].description, HasSubstr("is too short: 1.098e+15 FLOP/s, above the dense "
                                              "peak of this product, 9.894e+14 FLOP/s"));
  EXPECT_EQ(above[1].field, "c.experts[0].time.median_seconds");
  EXPECT_EQ(above[2].field, "c.collectives[0].time.median_seconds");
  EXPECT_EQ(above[3].field, "c.host_copies[0].time.median_seconds");
  EXPECT_THAT(above[3].description, HasSubstr("above the memory bandwidth of this product"));
}

// Equal to the last bit: no kernel is refused for a rate that the engine computes.
TEST(CheckKernels, CountsWorkAsTheEngineDoes) {
  std::mt19937_64 random(7);
  const auto up_to = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  for (int i = 0; i < 200; ++i) {
    v1::Calibration c = SampleCalibration();
    v1::AttentionMeasurement* attention = c.mutable_attentions(0);
    attention->set_batch(up_to(64));
    attention->set_sequence_length(up_to(10'000));
    attention->set_heads(attention->kv_heads() * up_to(64));
    attention->set_head_size(up_to(256));
    attention->set_value_head_size(up_to(256));
    attention->set_causal(i % 2 == 0);
    attention->set_window(i % 3 == 0 ? 0 : up_to(20'000));
    attention->set_flops_per_second(AttentionFlops(ShapeFrom(*attention)) /
                                    attention->time().median_seconds());
    v1::ExpertsMeasurement* experts = c.mutable_experts(0);
    experts->set_tokens(up_to(100'000));
    experts->set_hidden_size(up_to(16'384));
    experts->set_feed_forward_size(up_to(16'384));
    experts->set_gated(i % 2 == 0);
    experts->set_flops_per_second(GroupedMatmulFlops(ShapeFrom(*experts)) /
                                  experts->time().median_seconds());
    v1::CollectiveMeasurement* collective = c.mutable_collectives(0);
    collective->set_operation(static_cast<v1::CollectiveOperation>(1 + i % 6));
    collective->set_rank_count(1 + up_to(1000));
    collective->set_size_bytes(up_to(1'000'000'000));
    collective->set_bus_bytes_per_second(
        WireShare(CollectiveOpPair::Known(collective->operation()), collective->rank_count()) *
        static_cast<double>(collective->size_bytes()) / collective->time().median_seconds());
    check::CheckCalibration(
        c, "c", {.rate_tolerance = 0}, [](const std::string& field, absl::string_view description) {
          const bool of_kernels = field.find("attentions") == 2 || field.find("experts") == 2 ||
                                  field.find("collectives") == 2;
          EXPECT_FALSE(of_kernels) << field << " " << description;
        });
  }
}

// Values that CollectiveModel would refuse are refused here, with the field's name.
TEST(CheckKernels, TimesAreOfTheirKind) {
  v1::Calibration c = SampleCalibration();
  v1::CollectiveMeasurement* collective = c.mutable_collectives(0);
  Hasten(collective, 1e5);
  collective->set_bus_bytes_per_second(7.5e13);
  EXPECT_THAT(FaultyFields(c), ElementsAre("c.collectives[0].time.median_seconds"));
  c = SampleCalibration();
  Hasten(c.mutable_experts(0), 1e-8);  // more than a day
  c.mutable_experts(0)->set_flops_per_second(12);
  EXPECT_THAT(FaultyFields(c), ElementsAre("c.experts[0].time.median_seconds"));
}

}  // namespace
}  // namespace sextant::server
