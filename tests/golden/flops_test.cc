// FLOPs a token and a sequence that are published, or worked elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/count_flops.h"
#include "tests/golden/golden_files.h"
#include "tests/golden/reference_models.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

StepFlops Count(const ArchitectureSpec& spec, const TrainingStepSpec& step) {
  const auto flops = CheckAndCountFlops(spec, step, {"model", "step"}, FlopsDetail::kComponents);
  EXPECT_THAT(flops, IsOk());
  return flops.value_or(StepFlops());
}

double PerToken(const StepFlops& flops, MaskConvention mask) {
  return flops.PerToken(mask).Model().value();
}

TEST(ReferenceFlops, OfCasesAToDAreExact) {
  int rows = 0;
  for (const json& row : GoldenLines("reference_flops.jsonl")) {
    const StepFlops flops = Count(ReferenceModel(row["case"]), OneSequence(row["length"]));
    const MaskConvention mask =
        row["mask"] == "full" ? MaskConvention::kFull : MaskConvention::kCausal;
    EXPECT_EQ(PerToken(flops, mask), row["per_token"].get<double>()) << row;
    ++rows;
  }
  EXPECT_EQ(rows, 8);
}

TEST(ReferenceFlops, AgreeWithTheSharedTables) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  const json cases = SharedJson("golden/shared_cases.json")["hand_reference"]["exact"];
  for (const std::string name : {"A", "B", "C", "D"}) {
    SCOPED_TRACE(name);
    const json& row = cases[name];
    const ArchitectureSpec spec = ReferenceModel(name);
    const auto count = CountArchitecture(spec, "model");
    ASSERT_THAT(count, IsOk());
    EXPECT_EQ(count->all.total, row["params"].get<int64_t>());
    EXPECT_EQ(count->all.active, row["active_params"].get<int64_t>());
    const StepFlops flops = Count(spec, OneSequence(row["seq_len"]));
    const json& expect = row["flops_per_token"];
    const double full = PerToken(flops, MaskConvention::kFull);
    const double causal = PerToken(flops, MaskConvention::kCausal);
    EXPECT_EQ(full, expect["full"].get<double>());
    EXPECT_EQ(causal, expect["causal"].get<double>());
    EXPECT_EQ(2 * causal - full, expect["matmul_only"].get<double>());
  }
}

}  // namespace
}  // namespace sextant
