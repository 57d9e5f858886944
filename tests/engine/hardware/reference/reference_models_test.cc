#include <gtest/gtest.h>

#include "engine/hardware/reference/reference_kernels.h"

namespace sextant {
namespace {

TEST(ReferenceModel, IsThereForEveryTableAndIsMadeOnce) {
  for (const absl::Span<const AttentionReference> of_device : AttentionReferences()) {
    for (const AttentionReference& reference : of_device) {
      const AttentionModel* const model = ReferenceModel(reference);
      ASSERT_NE(model, nullptr) << reference.kernel;
      EXPECT_EQ(model->error().shape_count, static_cast<int64_t>(PointsOf(reference).size()));
      EXPECT_EQ(ReferenceModel(reference), model);
    }
  }
  for (const absl::Span<const GroupedMatmulReference> of_device : GroupedMatmulReferences()) {
    for (const GroupedMatmulReference& reference : of_device) {
      const GroupedMatmulModel* const model = ReferenceModel(reference);
      ASSERT_NE(model, nullptr) << reference.kernel;
      EXPECT_EQ(model->error().shape_count, static_cast<int64_t>(PointsOf(reference).size()));
      EXPECT_EQ(ReferenceModel(reference), model);
    }
  }
}

// A table of somebody else's is none of those that are kept.
TEST(ReferenceModel, OfAnotherTableIsNone) {
  const AttentionReference copy = AttentionReferences()[0][0];
  EXPECT_EQ(ReferenceModel(copy), nullptr);
}

}  // namespace
}  // namespace sextant
