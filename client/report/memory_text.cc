#include "client/report/memory_text.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/chart/memory_chart.h"
#include "client/flags/plan_flags.h"
#include "client/report/memory_tables.h"
#include "client/report/rates_text.h"
#include "client/report/text.h"

namespace sextant::client {
namespace {

// A value as flags take it: names of enums in lower case, with "-".
std::string ValueText(const std::string& value) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(value), {{"_", "-"}});
}

// "--tp=8 (now 4)". One setting may have several switches.
std::string SettingText(const v1::ChangedSetting& setting) {
  const auto append = [&setting](std::string* out, absl::string_view field) {
    absl::StrAppend(out, PlanFieldWords(std::string(field)), "=", ValueText(setting.to()));
  };
  return absl::StrCat(absl::StrJoin(absl::StrSplit(setting.field(), ", "), " ", append), " (now ",
                      ValueText(setting.from()), ")");
}

std::string ChangeText(const v1::FittingChange& change) {
  std::vector<std::string> settings;
  for (const v1::ChangedSetting& setting : change.settings()) {
    settings.push_back(SettingText(setting));
  }
  return absl::StrJoin(settings, " and ");
}

// The changes that make the run of `plan`, which has a memory estimate, fit; "" where it surely
// fits.
std::string ChangesSection(const v1::Plan& plan) {
  const v1::MemoryEstimate& estimate = plan.memory_estimate();
  if (plan.verdict() == v1::VERDICT_FITS) return "";
  const std::string considered = Grouped(estimate.changes_considered());
  if (estimate.changes().empty()) {
    return absl::StrCat("\nWhat to change\n",
                        Wrap("  ",
                             absl::StrCat("Of ", considered,
                                          " changes and pairs of them that were considered, none "
                                          "makes it fit."),
                             2));
  }
  Table table(2, {Align::kLeft, Align::kLeft});
  table.AddRow({"the peak is", "with"});
  for (const v1::FittingChange& change : estimate.changes()) {
    table.AddRow({IntervalText(change.process_bytes()),
                  absl::StrCat(ChangeText(change), "; costs ", change.cost())});
  }
  return absl::StrCat("\nWhat to change: each of these makes it fit, the cheapest first (",
                      considered, " considered)\n", table.Text());
}

constexpr size_t kMemoryHang = 12;  // below the text after "  headroom  "

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

// An even share of the job over all devices, and what fits on them.
std::string EvenShareSection(const v1::Memory& memory) {
  Table terms(2, {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight});
  terms.AddRow({"whole job", "data type", "bytes/parameter", "memory"});
  for (const v1::Memory::Term& term : memory.terms()) {
    terms.AddRow({Words(term.name()), DataTypeName(term.data_type()),
                  Plain(term.bytes_per_parameter()), Gib(term.size_bytes())});
  }
  terms.AddRow({"model state", "", "", Gib(memory.model_state_bytes())});
  terms.AddRow({"activations", "", "",
                memory.has_activation_bytes() ? Gib(memory.activation_bytes()) : "not counted"});
  terms.AddRow({"total", "", "", Gib(memory.total_bytes())});

  Table fit(2, {Align::kLeft, Align::kRight, Align::kLeft});
  fit.AddRow({"needed per device", Gib(memory.bytes_per_device())});
  fit.AddRow({"usable per device", Gib(memory.usable_bytes_per_device())});
  fit.AddRow({"headroom per device", Gib(memory.headroom_bytes_per_device())});
  fit.AddRow({"fewest devices that hold it", Grouped(memory.minimum_device_count()), "devices"});
  fit.AddRow(
      {"largest model on these devices", Grouped(memory.largest_parameter_count()), "parameters"});
  return absl::StrCat("\nMemory (sharded evenly over all devices)\n", terms.Text(), "\n",
                      fit.Text());
}

// Without a layout: the terms of an even share of the job's memory.
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
      Wrap("  counts    ", memory.counted(), kMemoryHang), EvenShareSection(memory));
}

// The assumptions, those of memory alone where the answer separates them, with flags for the fields
// that they name.
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

const char* VerdictWords(v1::Verdict verdict) {
  if (verdict == v1::VERDICT_FITS) return "FITS";
  return verdict == v1::VERDICT_TIGHT ? "TIGHT" : "DOES NOT FIT";
}

std::optional<ExitCode> ExitCodeOfVerdict(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_FITS:
      return kExitFits;
    case v1::VERDICT_DOES_NOT_FIT:
      return kExitDoesNotFit;
    case v1::VERDICT_TIGHT:
      return kExitTight;
    default:
      return std::nullopt;
  }
}

std::string ModelWords(const v1::Plan& plan) {
  std::string size = absl::StrCat(Grouped(plan.parameters().total()), " parameters");
  if (plan.parameters().components().empty()) return size;
  return absl::StrCat(plan.model_name(), " (", size, ")");
}

std::string MemorySection(const v1::Plan& plan) {
  if (!plan.has_memory_estimate()) return EvenShareSection(plan.memory());
  return absl::StrCat("\nMemory of each GPU at its stage's peak, in GiB (bars: sextant memory)\n",
                      StageMemoryTable(plan.memory_estimate()), ChangesSection(plan),
                      LedgerSections(plan.memory_estimate()));
}

std::string MemoryText(const v1::PlanRunRequest& request, const v1::PlanRunResponse& response,
                       const std::vector<std::string>& filled_in) {
  const v1::Plan& plan = response.plan();
  return absl::StrCat(plan.has_memory_estimate() ? Estimate(request, plan) : EvenShare(plan),
                      FilledInSection(filled_in), Assumptions(plan),
                      IgnoredFieldsSection(plan.ignored_config_fields()), "\n",
                      Wrap("", absl::StrCat("engine ", response.engine_version()), 0));
}

}  // namespace sextant::client
