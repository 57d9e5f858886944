#include "client/report/memory_text.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/flags/field_path.h"
#include "client/flags/plan_flags.h"
#include "client/plot/memory_chart.h"
#include "client/report/memory_tables.h"
#include "client/report/rates_text.h"
#include "client/report/whole_run_text.h"
#include "client/text/layout_words.h"
#include "client/text/memory_words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

// A value as flags take it.
std::string ValueText(const std::string& field, const v1::SettingValue& value) {
  if (value.has_number()) return absl::StrCat(value.number());
  if (value.has_enabled()) return value.enabled() ? "true" : "false";
  const auto* const found = FindField(*v1::PlanRunRequest::descriptor(), field);
  if (found == nullptr || found->enum_type() == nullptr) return value.enum_name();
  const auto* const name = found->enum_type()->FindValueByName(value.enum_name());
  return name == nullptr ? value.enum_name() : EnumName(*found->enum_type(), name->number());
}

// "--tp=8 (now 4)".
std::string SettingText(const v1::ChangedSetting& setting) {
  return absl::StrCat(PlanFieldWords(setting.field()), "=",
                      ValueText(setting.field(), setting.to()), " (now ",
                      ValueText(setting.field(), setting.from()), ")");
}

std::string ChangeText(const v1::FittingChange& change) {
  std::vector<std::string> settings;
  for (const v1::ChangedSetting& setting : change.settings()) {
    settings.push_back(SettingText(setting));
  }
  return absl::StrJoin(settings, " and ");
}

// A sentence, where the server did not consider all changes.
absl::string_view EndOfSearch(const v1::Memory& memory) {
  return memory.changes_search_ended_early()
             ? " Further ones were left out: the model has too many kinds of layers on a stage."
             : "";
}

// False where it fits, or no change can make it fit a host of unknown memory.
bool HasChangesToSay(const v1::Plan& plan) {
  return plan.verdict() != v1::VERDICT_FITS && plan.memory().changes_considered() > 0;
}

// The changes that make the run of `plan`, which has a layout, fit.
std::string ChangesSection(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  if (!HasChangesToSay(plan)) return "";
  const std::string considered = Grouped(memory.changes_considered());
  if (memory.changes().empty()) {
    return absl::StrCat("\nWhat to change\n",
                        Wrap("  ",
                             absl::StrCat("Of ", considered,
                                          " changes and pairs of them that were considered, none "
                                          "makes it fit.",
                                          EndOfSearch(memory)),
                             2));
  }
  Table table(2, {Align::kLeft, Align::kLeft});
  table.AddRow({"the peak is", "with"});
  for (const v1::FittingChange& change : memory.changes()) {
    table.AddRow({IntervalText(change.peak_bytes()),
                  absl::StrCat(ChangeText(change), "; costs ", change.cost_text())});
  }
  return absl::StrCat("\nWhat to change: each of these makes it fit, the cheapest first (",
                      considered, " considered",
                      memory.changes_search_ended_early() ? ", others left out" : "", ")\n",
                      table.Text());
}

constexpr size_t kMemoryHang = 12;  // below the text after "  headroom  "

// "  sharding  ZeRO stage 0, the default of megatron-lm, as are buffers"; "" where the answer
// doesn't say it.
std::string ShardingLine(const v1::RunLayout& layout, const v1::Memory& memory) {
  if (memory.zero_stage() == v1::ZERO_STAGE_UNSPECIFIED) return "";
  const std::string framework = EnumName(memory.framework());
  const bool given = layout.sharding().zero_stage() != v1::ZERO_STAGE_UNSPECIFIED;
  return Wrap("  sharding  ",
              absl::StrCat("ZeRO stage ", memory.zero_stage() - v1::ZERO_STAGE_NONE,
                           given ? "; buffers of " : ", the default of ", framework,
                           given ? "" : ", as are buffers"),
              kMemoryHang);
}

// "state as ZeRO stage 0 divides it, activations, transients, buffers, reserve; defaults of
// megatron-lm".
std::string CountedWords(const v1::Memory& memory) {
  if (memory.zero_stage() == v1::ZERO_STAGE_UNSPECIFIED) return "all that each GPU holds";
  return absl::StrCat("state as ZeRO stage ", memory.zero_stage() - v1::ZERO_STAGE_NONE,
                      " divides it, activations, transients, buffers, reserve; defaults of ",
                      EnumName(memory.framework()));
}

std::string RunWords(const v1::Plan& plan) {
  return absl::StrCat(ModelWords(plan), ", ", Grouped(plan.device_count()), " x ", plan.device());
}

std::string FilledInSection(const std::vector<std::string>& filled_in) {
  if (filled_in.empty()) return "";
  std::string out = "\nFilled in, not given\n";
  for (const std::string& sentence : filled_in) out += Wrap("  ", sentence, 4);
  return out;
}

// "model state; no activations".
std::string ScopeWords(v1::MemoryScope scope) {
  switch (scope) {
    case v1::MEMORY_SCOPE_MODEL_STATE:
      return "model state; no activations";
    case v1::MEMORY_SCOPE_MODEL_STATE_AND_GIVEN_ACTIVATIONS:
      return "model state and the request's activations";
    default:
      return Words(EnumName(scope));
  }
}

// A line with the capacity of a device after `label`; "" where the answer doesn't say it.
std::string CapacityLine(const char* label, const v1::Memory& memory, size_t hang) {
  const std::string text = CapacityText(memory.capacity());
  return text.empty() ? "" : Wrap(label, text, hang);
}

// A line with the need for host memory after `label`; "" without state there.
std::string HostLine(const char* label, const v1::Memory& memory, size_t hang,
                     size_t width = text::TextWidth()) {
  if (!memory.has_host()) return "";
  const v1::HostMemory& host = memory.host();
  return Wrap(label,
              absl::StrCat(HostNeedText(memory), ", of ", Grouped(host.device_count()), " devices",
                           host.citation().empty() ? "" : absl::StrCat(" (", host.citation(), ")")),
              hang, width);
}

// An even share of the job over all devices, and what fits on them.
std::string EvenShareSection(const v1::Memory& memory) {
  if (!memory.has_state()) return "";
  const v1::ModelState& state = memory.state();
  Table terms(2, {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight});
  terms.AddRow({"whole job", "data type", "bytes/parameter", "memory"});
  for (const v1::ModelState::Term& term : state.terms()) {
    terms.AddRow({Words(term.name()), DataTypeName(term.data_type()),
                  Plain(term.bytes_per_parameter()), Gib(term.size_bytes())});
  }
  terms.AddRow({"model state", "", "", Gib(state.state_bytes())});
  terms.AddRow({"activations", "", "",
                state.has_activation_bytes() ? Gib(state.activation_bytes()) : "not counted"});
  terms.AddRow({"total", "", "", Gib(state.total_bytes())});

  Table fit(2, {Align::kLeft, Align::kRight, Align::kLeft});
  fit.AddRow({"needed per device", Gib(memory.peak_bytes().expected())});
  fit.AddRow({"usable per device", Gib(memory.capacity().usable_bytes())});
  fit.AddRow({"headroom per device", Gib(memory.headroom_bytes().expected())});
  fit.AddRow({"fewest devices that hold it", Grouped(state.minimum_device_count()), "devices"});
  fit.AddRow(
      {"largest model on these devices", Grouped(state.largest_parameter_count()), "parameters"});
  return absl::StrCat("\nMemory (sharded evenly over all devices)\n", terms.Text(), "\n",
                      fit.Text());
}

// Without a layout: the terms of an even share of the job's memory.
std::string EvenShare(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  const double headroom = memory.headroom_bytes().expected();
  return absl::StrCat(
      Wrap(absl::StrCat(VerdictWords(plan.verdict()), ": "),
           absl::StrCat(Gib(memory.peak_bytes().expected()), " of ",
                        Gib(memory.capacity().usable_bytes()), " usable, shared out evenly: ",
                        headroom < 0 ? "short by " : "headroom ", Gib(std::abs(headroom))),
           2),
      CapacityLine("  capacity  ", memory, kMemoryHang),
      Wrap("  run       ", RunWords(plan), kMemoryHang),
      Wrap("  counts    ", ScopeWords(memory.scope()), kMemoryHang), EvenShareSection(memory));
}

// Its notes on memory, under `title`.
std::string MemoryNotes(absl::string_view title,
                        const google::protobuf::RepeatedPtrField<v1::Note>& notes) {
  google::protobuf::RepeatedPtrField<v1::Note> of_memory;
  for (const v1::Note& note : notes) {
    if (note.subject() == v1::NOTE_SUBJECT_MEMORY) *of_memory.Add() = note;
  }
  return NotesText(title, of_memory, PlanFieldWords);
}

// "; 37 % likely to fit" of a run that may fit or not, whatever its verdict.
std::string ChanceText(const v1::Plan& plan) {
  const v1::Interval& headroom = plan.memory().headroom_bytes();
  const bool tight = plan.verdict() == v1::VERDICT_TIGHT && !plan.memory().host().decides_verdict();
  const bool open = tight || (headroom.low() < 0 && headroom.high() >= 0);
  if (!open || !plan.has_fit_chance()) return "";
  return absl::StrFormat("; %.0f %% likely to fit", 100 * plan.fit_chance());
}

std::string ByStage(const v1::PlanRunRequest& request, const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  const v1::RunLayout& layout = PlannedLayout(request, plan);
  const std::string verdict = absl::StrCat(VerdictWords(plan.verdict()), ": ");
  return absl::StrCat(
      Wrap(verdict, absl::StrCat(HostVerdictText(memory), PeakText(memory), ChanceText(plan)), 2),
      Wrap("  headroom  ", HeadroomText(memory.headroom_bytes()), kMemoryHang),
      HostLine("  host      ", memory, kMemoryHang),
      CapacityLine("  capacity  ", memory, kMemoryHang),
      Wrap("  run       ", RunWords(plan), kMemoryHang),
      Wrap("  layout    ", LayoutWords(layout, memory), kMemoryHang), ShardingLine(layout, memory),
      "\nStages\n", StageWorkTable(memory),
      "\nMemory of each GPU at its stage's peak, in GiB (>: the most)\n", StageMemoryTable(memory),
      "\n", MemoryBars(MemoryChartOf(memory)), ChangesSection(plan),
      LedgerSections(memory, plan.sources()));
}

}  // namespace

std::optional<ExitCode> ExitCodeOfVerdict(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_FITS:
      return kExitFits;
    case v1::VERDICT_DOES_NOT_FIT:
      return kExitDoesNotFit;
    case v1::VERDICT_TIGHT:
      return kExitTight;
    case v1::VERDICT_STATE_FITS:
      return kExitStateFits;
    default:
      return std::nullopt;
  }
}

std::optional<ExitCode> ExitCodeOfPlan(const v1::Plan& plan) {
  const std::optional<ExitCode> fits = ExitCodeOfVerdict(plan.verdict());
  if (!fits.has_value() || *fits == kExitDoesNotFit || !MissesLimit(plan)) return fits;
  return kExitLate;
}

ExitCode ExitCodeOfMiss(v1::SizeLimit limit) {
  const bool late = limit == v1::SIZE_LIMIT_DEADLINE || limit == v1::SIZE_LIMIT_BUDGET;
  return late ? kExitLate : kExitDoesNotFit;
}

std::string ModelWords(const v1::Plan& plan) {
  std::string size = absl::StrCat(Grouped(plan.parameters().total()), " parameters");
  if (!plan.parameters().has_non_embedding()) return size;  // a BASIC view has no components
  return absl::StrCat(plan.model_name(), " (", size, ")");
}

bool IsByStage(const v1::Plan& plan) { return plan.memory().scope() == v1::MEMORY_SCOPE_LAYOUT; }

std::string NearestChange(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  if (!IsByStage(plan) || !HasChangesToSay(plan)) return "";
  if (memory.changes().empty()) {
    return absl::StrCat("none of ", Grouped(memory.changes_considered()),
                        " that were considered makes it fit");
  }
  const v1::FittingChange& first = memory.changes(0);
  const int others = memory.changes_size() - 1;
  return absl::StrCat(ChangeText(first), " makes it fit: ", IntervalText(first.peak_bytes()),
                      "; costs ", first.cost_text(),
                      others > 0 ? absl::StrCat(" (or one of ", others, " more: -v)") : "");
}

std::string FitLines(const v1::Plan& plan, size_t hang, size_t width) {
  const v1::Memory& memory = plan.memory();
  if (IsByStage(plan)) {
    return absl::StrCat(Wrap("  memory  ",
                             absl::StrCat(PeakText(memory), ": ",
                                          HeadroomText(memory.headroom_bytes()), ChanceText(plan)),
                             hang, width),
                        HostLine("  host    ", memory, hang, width),
                        Wrap("  counts  ", CountedWords(memory), hang, width));
  }
  const double headroom = memory.headroom_bytes().expected();
  const std::string margin = absl::StrCat(
      headroom < 0 ? "short by " : "headroom ", Gib(std::abs(headroom)),
      headroom < 0 && memory.has_state()
          ? absl::StrCat("; takes ", Grouped(memory.state().minimum_device_count()), " devices")
          : "");
  return absl::StrCat(
      Wrap("  memory  ",
           absl::StrCat(Gib(memory.peak_bytes().expected()), " needed, ",
                        Gib(memory.capacity().usable_bytes()), " usable per device: ", margin),
           hang, width),
      Wrap("  counts  ", absl::StrCat(ScopeWords(memory.scope()), "; divided over all devices"),
           hang, width));
}

std::string MemorySection(const v1::Plan& plan) {
  if (!IsByStage(plan)) return EvenShareSection(plan.memory());
  if (plan.memory().stages().empty()) return ChangesSection(plan);
  return absl::StrCat(
      "\nMemory of each GPU at its stage's peak, in GiB (>: the most; bars: sextant memory)\n",
      StageMemoryTable(plan.memory()), ChangesSection(plan),
      LedgerSections(plan.memory(), plan.sources()));
}

std::string MemoryText(const v1::PlanRunRequest& request, const v1::PlanRunResponse& response,
                       const std::vector<std::string>& filled_in) {
  const v1::Plan& plan = response.plan();
  return absl::StrCat(IsByStage(plan) ? ByStage(request, plan) : EvenShare(plan),
                      FilledInSection(filled_in), MemoryNotes("Warnings", plan.warnings()),
                      MemoryNotes("Assumptions", plan.assumptions()),
                      IgnoredFieldsSection(plan.ignored_config_fields()), "\n",
                      Wrap("", absl::StrCat("engine ", response.engine_version()), 0));
}

}  // namespace sextant::client
