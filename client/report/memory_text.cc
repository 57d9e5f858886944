#include "client/report/memory_text.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/flags/plan_flags.h"
#include "client/plot/charts.h"
#include "client/report/lines.h"
#include "client/text/layout_words.h"
#include "client/text/memory_stages.h"
#include "client/text/text.h"
#include "proto/words/plan_line.h"

namespace sextant::client {
namespace {

// "  sharding  ZeRO stage 0, the default of megatron-lm, as are buffers"; "" where the answer
// doesn't say it.
std::string ShardingLine(const v1::StateSharding& sharding, const v1::Memory& memory,
                         size_t width) {
  if (memory.zero_stage() == v1::ZERO_STAGE_UNSPECIFIED) return "";
  const std::string framework = EnumName(memory.framework());
  const bool given = sharding.zero_stage() != v1::ZERO_STAGE_UNSPECIFIED;
  return Line("  sharding  ",
              absl::StrCat("ZeRO stage ", memory.zero_stage() - v1::ZERO_STAGE_NONE,
                           given ? "; buffers of " : ", the default of ", framework,
                           given ? "" : ", as are buffers"),
              width);
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
  static constexpr Worded<v1::MemoryScope> kWords[] = {
      {v1::MEMORY_SCOPE_MODEL_STATE, "model state; no activations"},
      {v1::MEMORY_SCOPE_MODEL_STATE_AND_GIVEN_ACTIVATIONS,
       "model state and the request's activations"}};
  return WordsOf(kWords, scope);
}

// A line with the need for host memory after `label`; "" without state there.
std::string HostLine(const char* label, const v1::Memory& memory, size_t width = TextWidth()) {
  if (!memory.has_host()) return "";
  const v1::HostMemory& host = memory.host();
  return Line(label,
              absl::StrCat(HostNeedText(memory), ", of ", Grouped(host.device_count()), " devices",
                           host.citation().empty() ? "" : absl::StrCat(" (", host.citation(), ")")),
              width);
}

// An even share of the job over all devices, and what fits on them.
std::string EvenShareSection(const v1::Memory& memory) {
  if (!memory.has_state()) return "";
  const v1::ModelState& state = memory.state();
  Table terms = Titled({"whole job", "data type", ">bytes/parameter", ">memory"});
  for (const v1::ModelState::Term& term : state.terms()) {
    terms.AddRow({Words(term.name()), DataTypeName(term.data_type()),
                  Plain(term.bytes_per_parameter()), Gib(term.size_bytes())});
  }
  terms.AddRow({"model state", "", "", Gib(state.state_bytes())});
  terms.AddRow({"activations", "", "",
                state.has_activation_bytes() ? Gib(state.activation_bytes()) : "not counted"});
  terms.AddRow({"total", "", "", Gib(state.total_bytes())});

  Table fit = Titled({"", ">", ""});
  fit.AddRow({"needed per device", Gib(memory.peak_bytes().expected())});
  fit.AddRow({"usable per device", Gib(memory.capacity().usable_bytes())});
  fit.AddRow({"headroom per device", Gib(memory.headroom_bytes().expected())});
  fit.AddRow({"fewest devices that hold it", Grouped(state.minimum_device_count()), "devices"});
  fit.AddRow(
      {"largest model on these devices", Grouped(state.largest_parameter_count()), "parameters"});
  return absl::StrCat("\nMemory (sharded evenly over all devices)\n", terms.Text(), "\n",
                      fit.Text());
}

// "52.15 GiB of 79.18 GiB usable, shared out evenly: headroom 27.03 GiB".
std::string EvenShareWords(const v1::Memory& memory) {
  const double headroom = memory.headroom_bytes().expected();
  return absl::StrCat(Gib(memory.peak_bytes().expected()), " of ",
                      Gib(memory.capacity().usable_bytes()),
                      " usable, shared out evenly: ", headroom < 0 ? "short by " : "headroom ",
                      Gib(std::abs(headroom)));
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

// "; 37 % likely to fit" of a run that may fit or not, whatever its verdict; of an upper bound why
// it is one.
std::string ChanceText(const v1::Plan& plan) {
  if (plan.memory().unmodelled_settings_size() > 0) return UnmodelledText(plan.memory());
  const v1::Interval& headroom = plan.memory().headroom_bytes();
  const bool tight = plan.verdict() == v1::VERDICT_TIGHT && !plan.memory().host().decides_verdict();
  const bool open = tight || (headroom.low() < 0 && headroom.high() >= 0);
  if (!open || !plan.has_fit_chance()) return "";
  return absl::StrFormat("; %.0f %% likely to fit", 100 * plan.fit_chance());
}

// Whose types of gradients and of the optimizer's state are taken where the request leaves them
// open, if that is a recipe's.
std::string RecipeWords(const v1::Memory& memory) {
  if (memory.recipe().empty()) return "";
  return absl::StrCat(
      "of gradients and optimizer state, where not given, as Megatron-Bridge's own ", "recipe ",
      memory.recipe(), " has them");
}

// The lines above tables: the verdict, what decides it, and the run. Brief ones have no capacity.
std::string MemoryHead(const v1::PlanRunRequest& request, const v1::Plan& plan, bool brief,
                       size_t width) {
  const v1::Memory& memory = plan.memory();
  const std::string verdict = absl::StrCat(VerdictWords(plan.verdict()), ": ");
  const std::string capacity =
      brief ? "" : Line("  capacity  ", CapacityText(memory.capacity()), width);
  const std::string run = absl::StrCat(
      brief ? Line("  model     ", UnreadFieldsWords(plan.unread_config_fields()), width) : "",
      Line("  run       ", RunWords(plan), width));
  if (!IsByStage(plan)) {
    return absl::StrCat(Wrap(verdict, EvenShareWords(memory), 2, width), capacity, run,
                        Line("  counts    ", ScopeWords(memory.scope()), width));
  }
  const v1::RunLayout& planned = PlannedLayout(request, plan);
  const std::string layout = Line("  layout    ", LayoutWords(planned, memory), width);
  return absl::StrCat(
      Wrap(verdict, absl::StrCat(HostVerdictText(memory), PeakText(memory), ChanceText(plan)), 2,
           width),
      Line("  headroom  ", HeadroomText(memory.headroom_bytes()), width),
      Line("  open      ", words::OpenChoicesWords(plan), width),
      HostLine("  host      ", memory, width), Line("  types     ", RecipeWords(memory), width),
      capacity, run, brief ? FirstLines(layout, 3) : layout,
      ShardingLine(planned.sharding(), memory, width));
}

std::string StageSections(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  return absl::StrCat("\nStages\n", StageWorkTable(memory),
                      "\nMemory of each GPU at its stage's peak, in GiB (>: the most)\n",
                      StageMemoryTable(memory), "\n", RenderText(MemoryPlot(plan)),
                      ChangesSection(plan), LedgerSections(memory, plan.sources()));
}

// A part of a device's memory.
struct MemoryPart {
  std::string name;
  double gib = 0;
};

std::vector<MemoryPart> PartsOfFullestStage(const v1::Memory& memory) {
  std::vector<MemoryPart> out;
  for (const StageRun& run : ShownStageRuns(memory)) {
    if (!HoldsThePeak(memory, run)) continue;
    for (const MemoryKind& kind : kMemoryKinds) {
      out.push_back({kind.name, GibOf(BytesOf(memory.stages(run.first), kind.kind))});
    }
  }
  return out;
}

// The parts of the whole job.
std::vector<MemoryPart> PartsOfState(const v1::ModelState& state) {
  std::vector<MemoryPart> out;
  for (const v1::ModelState::Term& term : state.terms()) {
    out.push_back({Words(term.name()), GibOf(term.size_bytes())});
  }
  out.push_back({"activations", GibOf(state.activation_bytes())});
  return out;
}

// The largest in up to `rows` lines, the last of which sums up the rest.
std::string LargestParts(std::vector<MemoryPart> parts, size_t rows) {
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [](const MemoryPart& part) { return part.gib <= 0; }),
              parts.end());
  absl::c_stable_sort(parts,
                      [](const MemoryPart& a, const MemoryPart& b) { return a.gib > b.gib; });
  double total = 0;
  for (const MemoryPart& part : parts) total += part.gib;
  if (parts.size() > rows) {
    MemoryPart rest = {.name = absl::StrCat(parts.size() - rows + 1, " smaller parts")};
    for (size_t i = rows - 1; i < parts.size(); ++i) rest.gib += parts[i].gib;
    parts.resize(rows - 1);
    parts.push_back(rest);
  }
  Table table = Titled({"", ">", ">"});
  for (const MemoryPart& part : parts) {
    table.AddRow({part.name, absl::StrCat(Grouped(part.gib, 2), " GiB"),
                  absl::StrFormat("%.0f %%", 100 * part.gib / total)});
  }
  return table.Text();
}

// "  stages    35.94 GiB on stage 3 to 51.79 GiB on stage 0"; "" where there is one.
std::string StagesLine(const v1::Memory& memory, size_t width) {
  if (memory.stages_size() < 2) return "";
  const auto least =
      absl::c_min_element(memory.stages(), [](const v1::StageMemory& a, const v1::StageMemory& b) {
        return a.total_bytes() < b.total_bytes();
      });
  const v1::StageMemory& most = memory.stages(static_cast<int>(memory.peak_stage()));
  return Line("  stages    ",
              absl::StrCat(memory.stages_size(), ": ", Gib(least->total_bytes()), " on stage ",
                           least - memory.stages().begin(), " to ", Gib(most.total_bytes()),
                           " on stage ", memory.peak_stage()),
              width);
}

// "  filled in --tokens=1, --devices=32".
std::string FilledInLine(const std::vector<std::string>& filled_in, size_t width) {
  if (filled_in.empty()) return "";
  std::vector<std::string> subjects;
  subjects.reserve(filled_in.size());
  for (const std::string& sentence : filled_in) {
    subjects.push_back(sentence.substr(0, sentence.find(':')));
  }
  return Line("  filled in ", absl::StrJoin(subjects, ", "), width);
}

// The first warning about memory.
std::string WarningLine(const v1::Plan& plan, size_t width) {
  std::vector<std::string> texts;
  for (const v1::Note& note : plan.warnings()) {
    if (note.subject() == v1::NOTE_SUBJECT_MEMORY) texts.push_back(NoteText(note, PlanFieldWords));
  }
  if (texts.empty()) return "";
  if (texts.size() > 1) absl::StrAppend(&texts[0], " (and ", texts.size() - 1, " more: -v)");
  return Line("  warning   ", texts[0], width);
}

// The lines below the parts.
std::string BriefEnd(const v1::Plan& plan, const std::vector<std::string>& filled_in,
                     size_t width) {
  constexpr size_t kMaxLines = 3;  // of each
  const std::string change = NearestChange(plan);
  const v1::ModelState& state = plan.memory().state();
  const std::string devices =
      absl::StrCat("at least ", Grouped(state.minimum_device_count()), " hold it; these hold ",
                   Grouped(state.largest_parameter_count()), " parameters at most");
  return absl::StrCat(
      IsByStage(plan) || !plan.memory().has_state() ? "" : Line("  devices   ", devices, width),
      FirstLines(Line("  change    ", change, width), kMaxLines),
      FirstLines(WarningLine(plan, width), kMaxLines),
      FirstLines(FilledInLine(filled_in, width), 2),
      Line("  more      ",
           IsByStage(plan) ? "-v: all stages, changes, assumptions; --ledger; --svg=FILE; "
                             "--output=json"
                           : "-v: data types, assumptions; --output=json",
           width));
}

}  // namespace

std::string ModelWords(const v1::Plan& plan) {
  std::string size = absl::StrCat(Grouped(plan.parameters().total()), " parameters");
  if (!plan.parameters().has_non_embedding()) return size;  // a BASIC view has no components
  return absl::StrCat(plan.model_name(), " (", size, ")");
}

bool IsByStage(const v1::Plan& plan) { return plan.memory().scope() == v1::MEMORY_SCOPE_LAYOUT; }

std::string MemoryLine(const v1::Plan& plan, size_t width) {
  const v1::Memory& memory = plan.memory();
  if (IsByStage(plan)) {
    return absl::StrCat(Line("  memory  ",
                             absl::StrCat(PeakText(memory), ": ",
                                          HeadroomText(memory.headroom_bytes()), ChanceText(plan)),
                             width),
                        HostLine("  host    ", memory, width),
                        Line("  types   ", RecipeWords(memory), width));
  }
  const double headroom = memory.headroom_bytes().expected();
  const std::string margin = absl::StrCat(
      headroom < 0 ? "short by " : "headroom ", Gib(std::abs(headroom)),
      headroom < 0 && memory.has_state()
          ? absl::StrCat("; takes ", Grouped(memory.state().minimum_device_count()), " devices")
          : "");
  return Line("  memory  ",
              absl::StrCat(Gib(memory.peak_bytes().expected()), " needed, ",
                           Gib(memory.capacity().usable_bytes()), " usable per device: ", margin),
              width);
}

std::string CountsLine(const v1::Plan& plan, size_t width) {
  const v1::Memory& memory = plan.memory();
  return Line("  counts  ",
              IsByStage(plan)
                  ? CountedWords(memory)
                  : absl::StrCat(ScopeWords(memory.scope()), "; divided over all devices"),
              width);
}

std::string MemorySection(const v1::Plan& plan) {
  if (!IsByStage(plan)) return EvenShareSection(plan.memory());
  if (plan.memory().stages().empty()) return ChangesSection(plan);
  return absl::StrCat(
      "\nMemory of each GPU at its stage's peak, in GiB (>: the most; bars: sextant memory)\n",
      StageMemoryTable(plan.memory()), ChangesSection(plan),
      LedgerSections(plan.memory(), plan.sources()));
}

std::string BriefMemory(const v1::PlanRunRequest& request, const v1::Plan& plan,
                        const std::vector<std::string>& filled_in, size_t width) {
  const v1::Memory& memory = plan.memory();
  const std::string head = absl::StrCat(MemoryHead(request, plan, true, width),
                                        IsByStage(plan) ? StagesLine(memory, width) : "");
  const std::string end = BriefEnd(plan, filled_in, width);
  if (!IsByStage(plan) && !memory.has_state()) return head + end;
  const std::string title =
      IsByStage(plan) ? "Memory of the fullest GPU" : "Memory of the whole job";
  const size_t rows = LinesLeft(LinesIn(head) + LinesIn(end) + 1, 3, kMemoryKinds.size());
  return absl::StrCat(
      head, title, "\n",
      LargestParts(IsByStage(plan) ? PartsOfFullestStage(memory) : PartsOfState(memory.state()),
                   rows),
      end);
}

std::string MemoryText(const v1::PlanRunRequest& request, const v1::PlanRunResponse& response,
                       const std::vector<std::string>& filled_in) {
  const v1::Plan& plan = response.plan();
  const std::string unread = UnreadFieldsWords(plan.unread_config_fields());
  return absl::StrCat(
      MemoryHead(request, plan, false, TextWidth()),
      IsByStage(plan) ? StageSections(plan) : EvenShareSection(plan.memory()), Paragraph(unread),
      FilledInSection(filled_in), MemoryNotes("Warnings", plan.warnings()),
      MemoryNotes("Assumptions", plan.assumptions()),
      IgnoredFieldsSection(plan.ignored_config_fields()), EngineLine(response.engine_version()));
}

}  // namespace sextant::client
