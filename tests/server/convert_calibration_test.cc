// The model of a calibration's device, its fingerprint, and the server's annotations; its report
// names the same best figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/links/collective.h"
#include "proto/matmul_kind.h"
#include "proto/text/calibration_text.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/calibration.h"
#include "tests/server/fake_probe.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

// A batch, or another layout, is not the rate of a single multiplication.
TEST(DeviceModelFrom, PassesOverMultiplicationsThatAreNoGrids) {
  v1::Calibration wire = SampleCalibration();
  wire.mutable_matmuls(4)->set_data_type(v1::DATA_TYPE_FP32);
  wire.mutable_matmuls(4)->set_flops_per_second(9e12);
  const auto model = DeviceModelFrom(wire, "");
  const DeviceCalibration& of_device = model->calibration();
  EXPECT_EQ(of_device.MatmulIn(DataType::kFp32)->rate, FlopsPerSecond(1e12));
  size_t shape_count = 0;
  for (const MeasuredMatmulPoints& of_type : model->kernels().matmuls)
    shape_count += of_type.matmuls.size();
  EXPECT_EQ(shape_count, 3u);
}

// Unset fields mean a burst of the grid.
TEST(DeviceModelFrom, TakesAMultiplicationOfNoKindForABurstOfTheGrid) {
  v1::Calibration wire = SampleCalibration();
  v1::MatmulMeasurement* const requested = wire.mutable_matmuls(2);
  requested->clear_window();
  requested->clear_purpose();
  EXPECT_THAT(FaultyFields(wire), IsEmpty());
  const auto model = DeviceModelFrom(wire, "");
  EXPECT_EQ(model->calibration().BurstIn(DataType::kFp32)->rate, FlopsPerSecond(3e12));
  EXPECT_EQ(model->calibration().requested_matmul_count, 0);
}

TEST(MeasuredKernelsFrom, CarriesWhatPredictionsUse) {
  const v1::Calibration wire = SampleCalibration();
  const auto model = DeviceModelFrom(wire, "");
  const std::vector<MeasuredAttentions>& attentions = model->kernels().attentions;
  ASSERT_THAT(attentions, SizeIs(1));
  EXPECT_EQ(attentions[0].data_type, DataType::kBf16);
  ASSERT_THAT(attentions[0].forward, SizeIs(1));
  EXPECT_THAT(attentions[0].backward, IsEmpty());
  EXPECT_EQ(attentions[0].forward[0].shape, (AttentionShape{.batch = 1,
                                                            .sequence = 1000,
                                                            .heads = 8,
                                                            .key_value_heads = 2,
                                                            .query_key_head_size = 64,
                                                            .value_head_size = 64,
                                                            .causal = true,
                                                            .window = 100}));
  EXPECT_EQ(attentions[0].forward[0].time, Seconds(0.001));
  const std::vector<MeasuredExperts>& experts = model->kernels().experts;
  ASSERT_THAT(experts, SizeIs(1));
  EXPECT_EQ(experts[0].points[0].shape, (GroupedMatmulShape{.tokens = 1000,
                                                            .hidden = 10,
                                                            .intermediate = 20,
                                                            .experts_per_token = 2,
                                                            .experts = 4,
                                                            .expert_parallel = 2,
                                                            .gated = true}));
  const std::vector<MeasuredCollective>& collectives = model->kernels().collectives;
  ASSERT_THAT(collectives, SizeIs(1));
  EXPECT_EQ(collectives[0].op, CollectiveOp::kAllGather);
  EXPECT_EQ(collectives[0].ranks, 4);
  EXPECT_EQ(collectives[0].bytes, 1'000'000);
  EXPECT_EQ(collectives[0].seconds, 0.001);
  const std::vector<MeasuredHostCopy>& copies = model->kernels().host_copies;
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].direction, HostCopyDirection::kToDevice);
  EXPECT_TRUE(copies[0].pageable);
  EXPECT_EQ(copies[0].bytes, 1'000'000);
}

TEST(MeasuredKernelsFrom, ReadsBothPasses) {
  v1::Calibration wire = SampleCalibration();
  *wire.add_attentions() = wire.attentions(0);
  wire.mutable_attentions(1)->set_training_pass(v1::AttentionMeasurement::PASS_BACKWARD);
  *wire.add_attentions() = wire.attentions(0);
  wire.mutable_attentions(2)->set_data_type(v1::DATA_TYPE_FP8_E4M3);
  const auto model = DeviceModelFrom(wire, "");
  const std::vector<MeasuredAttentions>& attentions = model->kernels().attentions;
  ASSERT_THAT(attentions, SizeIs(2));
  EXPECT_THAT(attentions[0].backward, SizeIs(1));
  EXPECT_EQ(attentions[1].data_type, DataType::kFp8E4m3);
}

TEST(AnnotateCalibration, ReachesAllMultiplications) {
  v1::Calibration wire = SampleCalibration("GPU-1");
  wire.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  EXPECT_FALSE(IsAnnotated(wire));
  v1::Calibration annotated = wire;
  AnnotateCalibration(&annotated);
  EXPECT_EQ(annotated.matmuls(4).datasheet_mfu(), 1e12 / 1978.9e12);
  annotated.mutable_device()->clear_accelerator();
  for (int i = 0; i < 4; ++i) annotated.mutable_matmuls(i)->clear_datasheet_mfu();
  EXPECT_TRUE(IsAnnotated(annotated));
  ClearAnnotations(&annotated);
  EXPECT_EQ(annotated.SerializeAsString(), wire.SerializeAsString());
}

TEST(AnnotateCalibration, KnowsTheDatasheetOfKnownProductsAlone) {
  v1::Calibration calibration = FakeCalibration();
  AnnotateCalibration(&calibration);
  EXPECT_FALSE(calibration.device().has_accelerator());
  EXPECT_FALSE(calibration.matmuls(0).has_datasheet_mfu());

  calibration.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  calibration.mutable_matmuls(2)->set_flops_per_second(494.7e12);
  AnnotateCalibration(&calibration);
  EXPECT_EQ(calibration.device().accelerator(), "h100-sxm");
  // bf16: 494.7 of 989.4 TFLOP/s; fp32 and int8 have a peak as well.
  EXPECT_DOUBLE_EQ(calibration.matmuls(2).datasheet_mfu(), 0.5);
  EXPECT_TRUE(calibration.matmuls(0).has_datasheet_mfu());
  EXPECT_TRUE(calibration.matmuls(4).has_datasheet_mfu());  // sustained

  ClearAnnotations(&calibration);
  for (const auto& matmul : calibration.matmuls()) EXPECT_FALSE(matmul.has_datasheet_mfu());
  EXPECT_FALSE(calibration.device().has_accelerator());
  // The probe's own annotation does not replace the catalogue's.
  calibration.mutable_device()->set_product_name("Unheard-of 1");
  calibration.mutable_device()->set_accelerator("h100-sxm");
  calibration.mutable_matmuls(0)->set_datasheet_mfu(2);
  AnnotateCalibration(&calibration);
  EXPECT_FALSE(calibration.device().has_accelerator());
  EXPECT_FALSE(calibration.matmuls(0).has_datasheet_mfu());
}

// The line of `text` that starts with `label` after blanks; "" where there is none.
std::string RowOf(const std::string& text, const std::string& label) {
  const size_t best = text.find("Best of each kind");
  if (best == std::string::npos) return "";
  for (const absl::string_view line : absl::StrSplit(text.substr(best), '\n')) {
    if (absl::StartsWith(line, absl::StrCat("  ", label, " "))) return std::string(line);
  }
  return "";
}

// Eight measurements with close rates, some stable, some asked for, identified by their rows.
v1::Calibration RandomCalibration(std::mt19937& random) {
  v1::Calibration out = SampleCalibration("GPU-1");
  const v1::MatmulMeasurement pattern = out.matmuls(0);
  const auto measure = [&](int64_t m, v1::MatmulMeasurement::Window window) {
    v1::MatmulMeasurement* const matmul = out.add_matmuls();
    *matmul = pattern;
    matmul->set_window(window);
    matmul->set_data_type(v1::DATA_TYPE_BF16);
    matmul->set_m(m);
    matmul->set_flops_per_second(1e12 * (80 + static_cast<double>(random() % 41)));
    const bool requested =
        matmul->window() != v1::MatmulMeasurement::WINDOW_SUSTAINED && random() % 4 == 0;
    matmul->set_purpose(requested ? v1::MatmulMeasurement::PURPOSE_REQUESTED
                                  : v1::MatmulMeasurement::PURPOSE_GRID);
    matmul->mutable_time()->set_stable(random() % 2 == 0);
  };
  out.clear_matmuls();
  for (int64_t m = 101; m <= 108; ++m) measure(m, v1::MatmulMeasurement::WINDOW_BURST);
  for (int64_t m = 201; m <= 203; ++m) measure(m, v1::MatmulMeasurement::WINDOW_SUSTAINED);
  return out;
}

TEST(BestOfEachKind, IsOneInTheReportAndInPlans) {
  std::mt19937 random(20261123);  // NOLINT: the same on every run
  int unstable = 0;
  for (int i = 0; i < 500; ++i) {
    const v1::Calibration calibration = RandomCalibration(random);
    const std::string text = text::CalibrationText(calibration, {});
    const auto model = DeviceModelFrom(calibration, "");
    const MeasuredMatmul* const burst = model->calibration().BurstIn(DataType::kBf16);
    const MeasuredMatmul* const plan = model->calibration().MatmulIn(DataType::kBf16);
    const std::string burst_row = RowOf(text, "matmul bf16");
    const std::string sustained_row = RowOf(text, "sustained bf16");
    ASSERT_EQ(burst != nullptr, !burst_row.empty()) << text;
    if (burst != nullptr) {
      EXPECT_THAT(burst_row, HasSubstr(absl::StrCat(" ", burst->m, "x")));
      unstable += burst->stable ? 0 : 1;
    }
    ASSERT_EQ(plan != nullptr && plan->sustained, !sustained_row.empty()) << text;
    if (!sustained_row.empty()) {
      EXPECT_THAT(sustained_row, HasSubstr(absl::StrCat(" ", plan->m, "x")));
    }
  }
  EXPECT_GT(unstable, 10);  // both kinds of best rates occurred
  EXPECT_LT(unstable, 490);
}

}  // namespace
}  // namespace sextant::server
