#include "engine/model/presets/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/base/near_names.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

TEST(Presets, AreValidNamedOnceAndSourced) {
  std::set<std::string> names;
  for (const ModelPreset& preset : ModelPresets()) {
    FieldViolations violations;
    CheckTransformer(preset.transformer, "", violations);
    EXPECT_THAT(violations.ToStatus(), IsOk()) << preset.name;
    EXPECT_TRUE(names.insert(ComparableName(preset.name)).second) << preset.name;
    EXPECT_FALSE(preset.source.empty()) << preset.name;
  }
}

TEST(FindModelPreset, LooksPastCaseAndSeparators) {
  for (const char* name : {"llama-3.1-70b", "Llama 3.1 70B", "LLAMA_3.1_70b"}) {
    const auto preset = FindModelPreset(name);
    ASSERT_THAT(preset, IsOk()) << name;
    EXPECT_EQ((*preset)->name, "llama-3.1-70b");
  }
}

TEST(FindModelPreset, OffersNearNamesForAnUnknownOne) {
  const auto preset = FindModelPreset("llama-3.1-71b");
  EXPECT_THAT(preset, Fails(absl::StatusCode::kNotFound, "MODEL_UNKNOWN"));
  EXPECT_THAT(std::string(preset.status().message()), HasSubstr("llama-3.1-70b"));
}

}  // namespace
}  // namespace sextant
