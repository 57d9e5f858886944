#include "engine/run/step_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/run/measured_runs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

// Whoever waits no longer is asked before each device's models are fitted; a product's are known.
TEST(StepPredictor, EndsBetweenMeasuredDevices) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  run.cluster.device.calibrations.push_back(ModelOf(MeasuredH100("GPU-2")));
  run.cluster.device_count = 2;
  run.model.parameter_count.reset();
  run.model.preset = "llama-3.1-8b";
  run.training.sequence_length = 4096;
  run.layout = RunLayout{};
  run.layout->global_batch_size = 2;
  int asked = 0;
  const auto stop = [&asked] {
    return ++asked < 2 ? absl::OkStatus() : absl::CancelledError("gone");
  };
  const auto code_of = [&] {
    const auto resolved = Resolve(run, {});
    EXPECT_THAT(resolved, IsOk());
    CallWork work(stop);
    return StepPredictor::Of(run, *resolved, work).status().code();
  };
  EXPECT_EQ(code_of(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 2);
  run.cluster.device = {};
  run.cluster.device.accelerator = "h100-sxm";
  EXPECT_EQ(code_of(), absl::StatusCode::kOk);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace sextant
