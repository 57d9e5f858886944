// Refusals of measured attention, experts, collectives and host copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/links/collective.h"
#include "proto/check/calibration.h"
#include "server/convert/calibration.h"
#include "tests/server/calibration_faults.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  c.mutable_attentions(1)->set_pass(v1::AttentionMeasurement::PASS_BACKWARD);
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
        WireShare(CollectiveOpFrom(collective->operation()), collective->rank_count()) *
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

TEST(CheckKernels, LooksNoFurtherThanIsOfUse) {
  v1::Calibration c = SampleCalibration();
  for (int i = c.attentions_size(); i < 512; ++i) c.add_attentions();
  EXPECT_GT(CalibrationFaults(c).size(), 40u);
  EXPECT_LT(CalibrationFaults(c).size(), 100u);
  c.add_attentions();
  EXPECT_THAT(FaultyFields(c), Contains("c.attentions"));
}

}  // namespace
}  // namespace sextant::server
