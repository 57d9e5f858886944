
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/lines.h"
#include "client/report/memory_text.h"
#include "client/report/plan_text.h"
#include "client/report/planned_run.h"
#include "client/report/whole_run_text.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

std::string TuningLine(const std::string& label, const std::string& text) {
  return Line(absl::StrFormat("  %-7s", label), text);
}

// "Fine-tuning toy on 100,000,000 tokens, 8 x h100-sxm: 64 sequences of 1,024 tokens a step".
std::string TuningHead(const v1::PlanRunRequest& run, const v1::Plan& plan) {
  return Wrap("",
              absl::StrCat("Fine-tuning ", plan.model_name(), " on ", Grouped(plan.token_count()),
                           " tokens, ", Grouped(plan.device_count()), " x ", plan.device(), ": ",
                           Grouped(run.layout().global_batch_size()), " sequences of ",
                           Grouped(run.training().sequence_length()), " tokens a step"),
              2);
}

// Parameters that are trained.
int64_t TrainedCount(const v1::Plan& plan) {
  const v1::ParameterCounts& counts = plan.parameters();
  return counts.has_trainable() ? counts.trainable() : counts.total();
}

std::string MethodTable(const std::vector<TuningMethod>& methods,
                        const v1::BatchPlanRunsResponse& response) {
  struct Method {
    std::string name;
    const v1::PlannedRun& run;
  };
  std::vector<Method> rows;
  for (size_t i = 0; i < methods.size(); ++i) {
    rows.push_back({methods[i].name, response.runs(static_cast<int>(i))});
  }
  const auto cell = [](auto of) {
    return [of](const Method& m) { return m.run.has_plan() ? of(m.run.plan()) : kNoValue; };
  };
  const auto figure = [&cell](auto of) {
    return cell([of](const v1::Plan& plan) {
      const v1::TimeEstimate* const estimate = BasisEstimate(plan);
      return estimate == nullptr ? std::string(kNoValue) : of(*estimate);
    });
  };
  using Plan = v1::Plan;
  using Estimate = v1::TimeEstimate;
  return TableOf<Method>(
             {{"method", [](const Method& m) { return m.name; }},
              {">trains", cell([](const Plan& plan) { return ShortCount(TrainedCount(plan)); })},
              {"fits", [](const Method& m) { return ShortVerdict(m.run); }},
              {">GiB",
               cell([](const Plan& p) { return GibNumber(p.memory().peak_bytes().expected()); })},
              {">step", cell(StepCell)},
              {">time", figure([](const Estimate& e) {
                 return DurationToThreeDigits(e.elapsed_seconds().expected());
               })},
              {">dev-hours", cell(DeviceHoursCell)},
              {">USD", figure([](const Estimate& e) {
                 return e.has_cost_usd() ? Grouped(e.cost_usd(), 2) : kNoValue;
               }),
               kNoValue}},
             rows)
      .Text();
}

// The layout that was searched for, or why there is no plan.
std::string LayoutOrReason(const v1::PlannedRun& run) {
  if (run.has_status()) return ReasonOf(run.status(), FieldOfRun);
  return run.plan().has_search() ? LayoutFlags(run.plan().search().chosen()) : "";
}

// "rank 16 on all-linear; the base of qlora in fp4, blocks of 64, scales quantised".
std::string AdapterWords(const std::vector<TuningMethod>& methods,
                         const v1::BatchPlanRunsRequest& batch) {
  std::string adapters;
  std::string base;
  for (size_t i = 0; i < methods.size(); ++i) {
    const v1::PlanRunRequest& run = batch.runs(static_cast<int>(i));
    if (!run.model().changes().has_adapters()) continue;
    const v1::ModelChanges::Adapters& given = run.model().changes().adapters();
    adapters = absl::StrCat("rank ", given.rank(), " on ", absl::StrJoin(given.targets(), ", "),
                            ", the rest frozen");
    const v1::WeightStorage& storage = run.layout().storage();
    if (storage.frozen_data_type() == v1::DATA_TYPE_UNSPECIFIED) continue;
    base =
        absl::StrCat("; ", methods[i].name, ": that in ", DataTypeName(storage.frozen_data_type()),
                     storage.has_frozen_block_size()
                         ? absl::StrCat(" by blocks of ", storage.frozen_block_size())
                         : "",
                     storage.double_quantization() ? ", their scales quantised too" : "");
  }
  return absl::StrCat(adapters, base);
}

// "full: --emit=torchtitan or deepspeed; lora: no launcher writes it".
std::string FileWords(const std::vector<TuningMethod>& methods) {
  WordGroups groups;
  for (const TuningMethod& method : methods) {
    groups.Add(method.launchers.empty()
                   ? "no launcher that --emit knows can express it"
                   : absl::StrCat("--emit=", absl::StrJoin(method.launchers, ", ")),
               method.name);
  }
  return groups.WordsFirst();
}

}  // namespace

std::string FinetuneText(const std::vector<TuningMethod>& methods,
                         const v1::BatchPlanRunsRequest& batch,
                         const v1::BatchPlanRunsResponse& response, absl::Time now) {
  std::vector<const v1::Plan*> plans;
  std::string layouts;
  for (size_t i = 0; i < methods.size(); ++i) {
    const v1::PlannedRun& run = response.runs(static_cast<int>(i));
    if (run.has_plan()) plans.push_back(&run.plan());
    layouts += TuningLine(methods[i].name, LayoutOrReason(run));
  }
  return absl::StrCat(plans.empty() ? "" : TuningHead(batch.runs(0), *plans.front()),
                      UnreadLines("  model  ", plans), MethodTable(methods, response), layouts,
                      TuningLine("adapt", AdapterWords(methods, batch)),
                      TuningLine("files", FileWords(methods)), RatesLines("  rates  ", plans, now));
}

}  // namespace sextant::client
