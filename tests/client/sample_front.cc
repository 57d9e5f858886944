#include "tests/client/sample_front.h"

#include <cstdint>

namespace sextant::client {
namespace {

constexpr int64_t kGib = 1073741824;

void SetInterval(double expected, v1::Interval* interval) {
  interval->set_expected(expected);
  interval->set_low(0.9 * expected);
  interval->set_high(1.2 * expected);
}

}  // namespace

v1::Plan PlanWithFront(const std::vector<std::pair<double, double>>& points) {
  v1::Plan plan;
  plan.set_verdict(v1::VERDICT_FITS);
  plan.set_model_name("toy");
  plan.set_device("h100-sxm");
  plan.set_device_count(64);
  plan.mutable_memory()->mutable_capacity()->set_usable_bytes(80 * kGib);
  plan.mutable_search()->set_tie_ratio(0.03);
  for (const auto& [seconds, gib] : points) {
    v1::LayoutOption& option = *plan.mutable_search()->add_front();
    SetInterval(seconds, option.mutable_step_seconds());
    SetInterval(gib * kGib, option.mutable_peak_bytes());
    option.set_fit_chance(1);
    option.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(1);
    option.mutable_layout()->set_micro_batch_size(1);
  }
  if (!points.empty()) *plan.mutable_search()->mutable_chosen() = plan.search().front(0);
  return plan;
}

v1::Plan SampleFront() {
  v1::Plan plan = PlanWithFront({{10, 70}, {12, 60}, {20, 30}});
  v1::LayoutSearchResult& search = *plan.mutable_search();
  search.mutable_front(0)->set_tie(true);
  *search.mutable_chosen() = search.front(0);
  v1::RunLayout& layout = *search.mutable_front(1)->mutable_layout();
  layout.mutable_parallel()->set_tensor_parallel_size(4);
  layout.mutable_parallel()->set_pipeline_parallel_size(2);
  layout.set_context_parallel_size(2);
  layout.set_sequence_parallel(true);
  layout.mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_OPTIMIZER);
  layout.mutable_kernels()->set_recompute_norm_outputs(true);
  return plan;
}

}  // namespace sextant::client
