#include "client/memory_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/flag_words.h"
#include "client/format.h"
#include "client/memory_bars.h"
#include "client/memory_changes_text.h"
#include "client/memory_chart.h"
#include "client/memory_ledger_text.h"
#include "client/memory_stage_text.h"
#include "client/plan_notes.h"
#include "client/plan_tables.h"
#include "client/rates_text.h"
#include "client/table.h"
#include "client/verdict.h"

namespace sextant {
namespace {

constexpr size_t kMemoryHang = 12;  // below the text behind "  headroom  "

// "8 micro-batches", "1 sequence".
std::string Times(int64_t count, const char* one, const char* many) {
  return absl::StrCat(Grouped(count), " ", count == 1 ? one : many);
}

// "tensor 8 x pipeline 4 x data 2; a step is 8 micro-batches of 1 sequence".
std::string LayoutWords(const v1::RunLayout& layout, const v1::MemoryEstimate& estimate) {
  const v1::ParallelLayout& parallel = layout.parallel();
  const auto size = [](bool given, int64_t value) { return given ? value : 1; };
  std::vector<std::string> sizes;
  const auto add = [&sizes](const char* name, int64_t value) {
    if (value != 1) sizes.push_back(absl::StrCat(name, " ", Grouped(value)));
  };
  add("tensor", size(parallel.has_tensor_parallel_size(), parallel.tensor_parallel_size()));
  add("pipeline", estimate.stages_size());
  add("context", size(layout.has_context_parallel_size(), layout.context_parallel_size()));
  add("data", estimate.data_parallel_size());
  const int64_t sequences = size(layout.has_micro_batch_size(), layout.micro_batch_size());
  return absl::StrCat(sizes.empty() ? "one GPU holds all" : absl::StrJoin(sizes, " x "),
                      "; a step is ",
                      Times(estimate.micro_batch_count(), "micro-batch", "micro-batches"), " of ",
                      Times(sequences, "sequence", "sequences"));
}

std::string RunWords(const v1::Plan& plan) {
  return absl::StrCat(ModelWords(plan), ", ", Grouped(plan.device_count()), " x ",
                      plan.accelerator());
}

std::string FilledInSection(const std::vector<std::string>& filled_in) {
  if (filled_in.empty()) return "";
  std::string out = "\nFilled in, not given\n";
  for (const std::string& sentence : filled_in) out += Wrap("  ", sentence, 4);
  return out;
}

// Without a layout: what an even share of the job's memory is.
std::string EvenShare(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  const int64_t headroom = memory.headroom_bytes_per_device();
  return absl::StrCat(
      Wrap(absl::StrCat(VerdictWords(plan.verdict()), ": "),
           absl::StrCat(Gib(memory.bytes_per_device()), " of ",
                        Gib(memory.usable_bytes_per_device()), " usable, shared out evenly: ",
                        headroom < 0 ? absl::StrCat("short by ", Gib(-headroom))
                                     : absl::StrCat("headroom ", Gib(headroom))),
           2),
      Wrap("  run       ", RunWords(plan), kMemoryHang),
      Wrap("  counts    ", memory.counted(), kMemoryHang), MemorySection(memory));
}

// Those of memory alone where the answer tells them apart, with flags for the fields they name.
std::string Assumptions(const v1::Plan& plan) {
  google::protobuf::RepeatedPtrField<std::string> sentences =
      plan.memory_estimate().assumptions().empty() ? plan.assumptions()
                                                   : plan.memory_estimate().assumptions();
  for (std::string& sentence : sentences) sentence = PlanDescriptionWords(sentence);
  return AssumptionsText(sentences);
}

std::string Estimate(const v1::PlanRunRequest& request, const v1::Plan& plan) {
  const v1::MemoryEstimate& estimate = plan.memory_estimate();
  return absl::StrCat(Wrap(absl::StrCat(VerdictWords(plan.verdict()), ": "), PeakText(estimate), 2),
                      Wrap("  headroom  ", HeadroomText(estimate.headroom_bytes()), kMemoryHang),
                      Wrap("  run       ", RunWords(plan), kMemoryHang),
                      Wrap("  layout    ", LayoutWords(request.layout(), estimate), kMemoryHang),
                      "\nStages\n", StageWorkTable(estimate),
                      "\nMemory of each GPU at its stage's peak, in GiB\n",
                      StageMemoryTable(estimate), "\n", MemoryBars(MemoryChartOf(estimate)),
                      ChangesSection(plan), LedgerSections(estimate));
}

}  // namespace

std::string ModelWords(const v1::Plan& plan) {
  std::string size = absl::StrCat(Grouped(plan.parameters().total()), " parameters");
  if (plan.parameters().components().empty()) return size;
  return absl::StrCat(plan.model_name(), " (", size, ")");
}

std::string MemoryText(const v1::PlanRunRequest& request, const v1::PlanRunResponse& response,
                       const std::vector<std::string>& filled_in) {
  const v1::Plan& plan = response.plan();
  return absl::StrCat(plan.has_memory_estimate() ? Estimate(request, plan) : EvenShare(plan),
                      FilledInSection(filled_in), Assumptions(plan),
                      IgnoredFieldsSection(plan.ignored_config_fields()), "\n",
                      Wrap("", absl::StrCat("engine ", response.engine_version()), 0));
}

std::string EstimateSection(const v1::Plan& plan) {
  return absl::StrCat("\nMemory of each GPU at its stage's peak, in GiB (bars: sextant memory)\n",
                      StageMemoryTable(plan.memory_estimate()), ChangesSection(plan),
                      LedgerSections(plan.memory_estimate()));
}

}  // namespace sextant
