// Faults of other tools that must not be ours, each under its name.
#include <gtest/gtest.h>

#include "engine/run/plan.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

struct SparsePeak {
  const char* accelerator;
  double sparse_flops_per_second;  // bf16 with structured sparsity, as datasheets print it first
};

// Megatron issues 1276 and 1565: the sparse peak as the denominator, which halves every MFU.
// Figures from memory of the vendor's datasheets.
TEST(PeerFaults, SparsePeakAsTheDenominatorOfAnMfu) {
  for (const SparsePeak& gpu : {SparsePeak{"a100-sxm-80", 624e12}, SparsePeak{"h100-sxm", 1979e12},
                                SparsePeak{"h200-sxm", 1979e12}, SparsePeak{"l40s", 733e12},
                                SparsePeak{"b200-sxm", 4500e12}}) {
    SCOPED_TRACE(gpu.accelerator);
    RunSpec run;
    run.model.preset = "llama-2-7b";
    run.training.token_count = 1'000'000'000'000;
    run.training.sequence_length = 4096;
    run.cluster.accelerator = gpu.accelerator;
    run.cluster.device_count = 1;
    const auto plan = PlanRun(run);
    ASSERT_THAT(plan, IsOk());
    // At an MFU of 1 the run goes at the dense peak, half of the sparse one.
    const double reached = plan->flops.used().run.value() / plan->lower_bound->duration.value();
    EXPECT_EQ(plan->lower_bound->mfu, 1);
    EXPECT_NEAR(reached / (gpu.sparse_flops_per_second / 2), 1, 0.015);
  }
}

}  // namespace
}  // namespace sextant
