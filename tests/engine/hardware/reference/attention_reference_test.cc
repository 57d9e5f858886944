// The reference calibrations of attention and of layers of experts.
#include <gtest/gtest.h>

#include <vector>

#include "engine/hardware/accelerator.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/reference/reference_kernels.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr size_t kMaxPoints = 200;  // of a data type and kernel

// A rate above the datasheet's peak would be refused. All points together take less than a second,
// so that a probe could measure them as well.
void ExpectCalibrates(const AttentionReference& reference) {
  const Accelerator* accelerator = AcceleratorNamed(reference.device);
  ASSERT_NE(accelerator, nullptr) << reference.device;
  const DatasheetValue peak = PeakFlopsPerSecond(*accelerator, reference.data_type);
  ASSERT_TRUE(peak) << reference.device;
  const std::vector<AttentionPoint> points = PointsOf(reference);
  EXPECT_LE(points.size(), kMaxPoints);
  Seconds total(0);
  for (const AttentionPoint& point : points) total = total + point.time;
  EXPECT_LT(total, Seconds(1)) << reference.device;
  const absl::StatusOr<AttentionModel> model = AttentionModel::Of(
      {.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value),
       .peak = FlopsPerSecond(peak.value),
       .points = points});
  ASSERT_THAT(model, IsOk()) << reference.device;
  EXPECT_LT(model->error().median_absolute, 0.07) << reference.device << reference.kernel;
  EXPECT_LT(model->error().p90_absolute, 0.2) << reference.device << reference.kernel;
  EXPECT_EQ(model->error().shape_count, static_cast<int64_t>(points.size()));
}

TEST(AttentionReferences, CalibrateTheirDevices) {
  for (const char* device : {"a100-sxm-80", "b200-sxm", "h100-sxm", "h200-sxm"}) {
    for (const bool latent : {false, true}) {
      const AttentionReference* reference = FindAttentionReference(device, DataType::kBf16, latent);
      ASSERT_NE(reference, nullptr) << device;
      ExpectCalibrates(*reference);
    }
  }
  for (const char* device : {"b200-sxm", "h100-sxm", "h200-sxm"}) {
    const AttentionReference* reference = FindAttentionReference(device, DataType::kFp8E4m3, false);
    ASSERT_NE(reference, nullptr) << device;
    ExpectCalibrates(*reference);
  }
}

TEST(AttentionReferences, AreThoseOfTheDeviceAskedFor) {
  EXPECT_EQ(FindAttentionReference("a100-sxm-80", DataType::kFp8E4m3, false), nullptr);
  EXPECT_EQ(FindAttentionReference("h100-pcie", DataType::kBf16, false), nullptr);
  const AttentionReference* h200 = FindAttentionReference("h200-sxm", DataType::kBf16, false);
  ASSERT_NE(h200, nullptr);
  EXPECT_EQ(h200->kernel, "sglang 0.5.14 fa3, flash_attention_v3");
}

TEST(GroupedMatmulReferences, CalibrateTheirDevices) {
  int64_t found = 0;
  for (const absl::Span<const GroupedMatmulReference> references :
       {GroupedMatmulReferencesOfA100(), GroupedMatmulReferencesOfB200(),
        GroupedMatmulReferencesOfH100(), GroupedMatmulReferencesOfH200()}) {
    for (const GroupedMatmulReference& reference : references) {
      EXPECT_EQ(FindGroupedMatmulReference({.device = reference.device,
                                            .data_type = reference.data_type,
                                            .block_scaled = reference.block_scaled,
                                            .gated = reference.gated}),
                &reference);
      const Accelerator* accelerator = AcceleratorNamed(reference.device);
      ASSERT_NE(accelerator, nullptr) << reference.device;
      const std::vector<GroupedMatmulPoint> points = PointsOf(reference);
      EXPECT_LE(points.size(), kMaxPoints);
      const absl::StatusOr<GroupedMatmulModel> model = GroupedMatmulModel::Of(
          {.peak = FlopsPerSecond(PeakFlopsPerSecond(*accelerator, reference.data_type).value),
           .points = points});
      ASSERT_THAT(model, IsOk()) << reference.device << reference.kernel;
      EXPECT_LT(model->error().median_absolute, 0.2) << reference.device << reference.kernel;
      ++found;
    }
  }
  EXPECT_EQ(found, 18);
  EXPECT_EQ(FindGroupedMatmulReference({.device = "h100-sxm", .data_type = DataType::kNvfp4}),
            nullptr);
}

}  // namespace
}  // namespace sextant
