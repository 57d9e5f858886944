#include "client/plan_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/format.h"
#include "client/memory_stage_text.h"
#include "client/memory_text.h"
#include "client/plan_cost.h"
#include "client/plan_notes.h"
#include "client/plan_tables.h"
#include "client/table.h"
#include "client/verdict.h"

namespace sextant {
namespace {

constexpr size_t kPlanHang = 10;  // below the text behind "  memory  "

std::string HeadlineMemory(const v1::Memory& memory) {
  const int64_t headroom = memory.headroom_bytes_per_device();
  const std::string margin = headroom < 0
                                 ? absl::StrCat("short by ", Gib(-headroom), "; takes ",
                                                Grouped(memory.minimum_device_count()), " devices")
                                 : absl::StrCat("headroom ", Gib(headroom));
  return absl::StrCat(Gib(memory.bytes_per_device()), " needed, ",
                      Gib(memory.usable_bytes_per_device()), " usable per device: ", margin);
}

std::string HeadlineTime(const v1::Plan& plan) {
  std::vector<std::string> times;
  if (plan.has_measured_bound()) {
    times.push_back(
        absl::StrCat(Duration(plan.measured_bound().duration_seconds()), " at the measured rate"));
  }
  if (plan.has_lower_bound()) {
    times.push_back(absl::StrCat("at least ", Duration(plan.lower_bound().duration_seconds()),
                                 " (lower bound)"));
  }
  if (const v1::RunCost& textbook = plan.textbook_estimate(); plan.has_textbook_estimate()) {
    times.push_back(
        absl::StrCat(Duration(textbook.duration_seconds()), " by the textbook",
                     textbook.has_mfu() ? " at " + Percent(textbook.mfu()) + " MFU" : ""));
  }
  return times.empty() ? "not known: no rate of the devices is" : absl::StrJoin(times, "; ");
}

// What the verdict stands on: stages under a layout, or else an even share.
std::string HeadlineFit(const v1::Plan& plan) {
  if (!plan.has_memory_estimate()) {
    return absl::StrCat(Wrap("  counts  ", plan.memory().counted(), kPlanHang),
                        Wrap("  memory  ", HeadlineMemory(plan.memory()), kPlanHang));
  }
  const v1::MemoryEstimate& estimate = plan.memory_estimate();
  return Wrap("  memory  ",
              absl::StrCat(PeakText(estimate), ": ", HeadroomText(estimate.headroom_bytes())),
              kPlanHang);
}

std::string Headline(const v1::Plan& plan) {
  const std::string what = absl::StrCat(ModelWords(plan), ", ", Grouped(plan.token_count()),
                                        plan.token_count() == 1 ? " token, " : " tokens, ",
                                        Grouped(plan.device_count()), " x ", plan.accelerator());
  return absl::StrCat(Wrap(absl::StrCat(VerdictWords(plan.verdict()), ": "), what, kPlanHang),
                      HeadlineFit(plan), Wrap("  time    ", HeadlineTime(plan), kPlanHang));
}

}  // namespace

std::string PlanText(const v1::PlanRunResponse& response, absl::Time now) {
  const v1::Plan& plan = response.plan();
  return absl::StrCat(
      Headline(plan), ModelSection(plan.parameters()), ArithmeticSection(plan.flops()),
      plan.has_memory_estimate() ? EstimateSection(plan) : MemorySection(plan.memory()),
      CostSection(plan), RatesSection(plan, now), AssumptionsSection(plan),
      IgnoredFieldsSection(plan.ignored_config_fields()), DerivationSection(plan), "\n",
      Wrap("",
           absl::StrCat("engine ", response.engine_version(), ", rates ",
                        response.rates_fingerprint()),
           0));
}

}  // namespace sextant
