#include "gpu_probe/host/host_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_probe/host/host_context.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

void AddRegisters(v1::DataType type, double flops_per_second, v1::Calibration* out) {
  v1::RegisterMeasurement* const registers = out->add_registers();
  registers->set_data_type(type);
  registers->set_flops_per_second(flops_per_second);
}

void AddMatmul(v1::DataType type, double flops_per_second, v1::Calibration* out) {
  v1::MatmulMeasurement* const matmul = out->add_matmuls();
  matmul->set_data_type(type);
  matmul->set_flops_per_second(flops_per_second);
  matmul->set_engine("onednn 2.6.3");
  matmul->set_kernel("gemm:sse3");
}

void AddStep(int64_t count, double flops_per_second, double bytes_per_second,
             v1::Calibration* out) {
  v1::ElementwiseMeasurement* const step = out->add_elementwise();
  step->set_multiply_add_count(count);
  step->set_flops_per_second(flops_per_second);
  step->set_bytes_per_second(bytes_per_second);
}

TEST(SummariseHost, FillsRatiosOfTheSameType) {
  v1::Calibration calibration;
  AddRegisters(v1::DATA_TYPE_FP32, 200e9, &calibration);
  AddMatmul(v1::DATA_TYPE_FP32, 180e9, &calibration);
  AddMatmul(v1::DATA_TYPE_BF16, 300e9, &calibration);
  *calibration.add_sustained_matmuls() = calibration.matmuls(0);
  SummariseHost(&calibration);
  EXPECT_DOUBLE_EQ(calibration.matmuls(0).register_ratio(), 0.9);
  EXPECT_FALSE(calibration.matmuls(1).has_register_ratio());
  EXPECT_DOUBLE_EQ(calibration.sustained_matmuls(0).register_ratio(), 0.9);
  EXPECT_EQ(calibration.notes_size(), 0);
}

TEST(SummariseHost, TellsOfASilentSlowPath) {
  v1::Calibration calibration;
  AddRegisters(v1::DATA_TYPE_FP32, 200e9, &calibration);
  AddMatmul(v1::DATA_TYPE_FP32, 10e9, &calibration);
  AddMatmul(v1::DATA_TYPE_FP32, 38e9, &calibration);
  SummariseHost(&calibration);
  ASSERT_EQ(calibration.notes_size(), 1);
  EXPECT_THAT(calibration.notes(0), HasSubstr("FP32 (onednn 2.6.3, gemm:sse3) reaches 0.19"));
}

TEST(SummariseHost, SaysNothingOfASmallShapeThatWasAskedFor) {
  v1::Calibration calibration;
  AddRegisters(v1::DATA_TYPE_FP32, 200e9, &calibration);
  AddMatmul(v1::DATA_TYPE_FP32, 1e9, &calibration);
  calibration.mutable_matmuls(0)->set_requested(true);
  SummariseHost(&calibration);
  EXPECT_DOUBLE_EQ(calibration.matmuls(0).register_ratio(), 0.005);
  EXPECT_EQ(calibration.notes_size(), 0);
}

TEST(SummariseHost, TellsOfAnImpossibleRate) {
  v1::Calibration calibration;
  for (const auto type : {v1::DATA_TYPE_INT8, v1::DATA_TYPE_BF16}) {
    AddRegisters(type, 100e9, &calibration);
    calibration.mutable_registers()->rbegin()->mutable_time()->set_stable(true);
  }
  AddMatmul(v1::DATA_TYPE_INT8, 106e9, &calibration);
  AddMatmul(v1::DATA_TYPE_BF16, 100e9, &calibration);
  SummariseHost(&calibration);
  EXPECT_FALSE(calibration.registers(0).time().stable()) << "its samples agree, and are wrong";
  EXPECT_TRUE(calibration.registers(1).time().stable());
  ASSERT_EQ(calibration.notes_size(), 1);
  EXPECT_THAT(calibration.notes(0), HasSubstr("1.06 times"));
}

TEST(SummariseHost, TakesTheRidgeFromTheHighestOfEach) {
  v1::Calibration calibration;
  AddStep(1, 5e9, 20e9, &calibration);
  AddStep(2, 11e9, 22e9, &calibration);
  AddStep(128, 198e9, 6e9, &calibration);
  SummariseHost(&calibration);
  EXPECT_DOUBLE_EQ(calibration.ridge_flops_per_byte(), 9);
}

TEST(SummariseHost, LeavesOutWhatACutRunCannotTell) {
  v1::Calibration calibration;
  AddStep(1, 5e9, 20e9, &calibration);
  AddStep(64, 150e9, 6e9, &calibration);
  calibration.mutable_fusion()->mutable_unfused_time()->set_median_seconds(3);
  SummariseHost(&calibration);
  EXPECT_FALSE(calibration.has_ridge_flops_per_byte());
  EXPECT_FALSE(calibration.has_fusion());
  v1::Calibration empty;
  SummariseHost(&empty);
  EXPECT_EQ(empty.ByteSizeLong(), 0u);
}

TEST(SummariseHost, FillsTheSpeedup) {
  v1::Calibration calibration;
  calibration.mutable_fusion()->mutable_unfused_time()->set_median_seconds(3);
  calibration.mutable_fusion()->mutable_fused_time()->set_median_seconds(1.5);
  SummariseHost(&calibration);
  EXPECT_DOUBLE_EQ(calibration.fusion().speedup_ratio(), 2);
}

TEST(TimeOfPass, ScalesTimesAlone) {
  v1::TimeStatistics time;
  time.set_median_seconds(2);
  time.set_p10_seconds(1);
  time.set_p90_seconds(3);
  time.set_relative_spread(0.25);
  time.set_sample_count(9);
  time.set_repetition_count(4);
  time.set_stable(true);
  const v1::TimeStatistics pass = TimeOfPass(time, 16);
  EXPECT_EQ(pass.median_seconds(), 32);
  EXPECT_EQ(pass.p10_seconds(), 16);
  EXPECT_EQ(pass.p90_seconds(), 48);
  EXPECT_EQ(pass.relative_spread(), 0.25);
  EXPECT_EQ(pass.sample_count(), 9);
  EXPECT_TRUE(pass.stable());
}

TEST(AddNote, SaysNothingTwice) {
  v1::Calibration calibration;
  AddNote("a", &calibration);
  AddNote("b", &calibration);
  AddNote("a", &calibration);
  EXPECT_EQ(calibration.notes_size(), 2);
}

}  // namespace
}  // namespace sextant
