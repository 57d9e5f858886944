#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/report/lines.h"
#include "client/report/memory_text.h"
#include "client/text/amounts.h"
#include "client/text/memory_stages.h"
#include "client/text/sources.h"
#include "client/text/text.h"
#include "proto/words/plan_line.h"

namespace sextant::client {
namespace {

constexpr int kMaxChunks = 4;  // of a stage that are listed one by one

// "4", or "4 + 2" of a stage with several chunks of layers.
std::string InFlightText(const v1::StageMemory& stage) {
  if (stage.micro_batches_in_flight_size() <= kMaxChunks) {
    return absl::StrJoin(stage.micro_batches_in_flight(), " + ");
  }
  int64_t sum = 0;
  for (const int64_t count : stage.micro_batches_in_flight()) sum += count;
  return absl::StrCat(Grouped(sum), " in ", stage.micro_batches_in_flight_size(), " chunks");
}

int64_t ModelState(const v1::StageMemory& stage) {
  return BytesOf(stage, v1::LEDGER_KIND_WEIGHT) + BytesOf(stage, v1::LEDGER_KIND_GRADIENT) +
         BytesOf(stage, v1::LEDGER_KIND_MASTER_WEIGHT) +
         BytesOf(stage, v1::LEDGER_KIND_OPTIMIZER_STATE);
}

// Adds a row for stages that a table leaves out.
void AddGap(const StageRun& run, Table* table) {
  if (run.left_out_before > 0) table->AddRow({"..."});
}

// Numbered notes: text that many rows share is written once.
class Notes {
 public:
  explicit Notes(const SourceList& sources) : sources_(sources) {}

  // The number of the row's note, "(3)"; "" for a row without one.
  std::string Reference(const v1::LedgerRow& row) {
    std::vector<std::string> parts;
    for (const std::string& part : {row.alive(), row.why()}) {
      if (!part.empty()) parts.push_back(part);
    }
    std::string note = absl::StrJoin(parts, "; ");
    const std::string source = SourceText(sources_, row.source_number());
    if (!source.empty()) absl::StrAppend(&note, " [", source, "]");
    if (note.empty()) return "";
    const auto found = std::find(notes_.begin(), notes_.end(), note);
    const auto index = found - notes_.begin();
    if (found == notes_.end()) notes_.push_back(std::move(note));
    return absl::StrCat("(", index + 1, ")");
  }

  std::string Text() const {
    std::string out;
    for (size_t i = 0; i < notes_.size(); ++i) {
      const std::string number = absl::StrCat("  (", i + 1, ") ");
      absl::StrAppend(&out, Wrap(number, notes_[i], number.size()));
    }
    return out;
  }

 private:
  const SourceList& sources_;
  std::vector<std::string> notes_;
};

// "bf16"; "bool", "int64" or "byte" for other contents.
std::string TypeText(const v1::LedgerRow& row) {
  switch (row.element_kind()) {
    case v1::ELEMENT_KIND_MASK:
      return "bool";
    case v1::ELEMENT_KIND_INDEX:
      return absl::StrCat("int", row.element_bits());
    case v1::ELEMENT_KIND_BYTE:
      return "byte";
    default:
      return DataTypeName(row.data_type());
  }
}

// "chunk 1, decoder, dense": the owner of the rows that follow.
std::string OwnerOf(const v1::LedgerRow& row) {
  std::vector<std::string> words;
  if (row.has_chunk()) words.push_back(absl::StrCat("chunk ", row.chunk()));
  if (row.part() != v1::MODEL_PART_UNSPECIFIED) words.push_back(Words(EnumName(row.part())));
  if (!row.layer_kind().empty()) words.push_back(row.layer_kind());
  return absl::StrJoin(words, ", ");
}

// "20 x 4": layers times micro-batches; a factor of one is not written.
std::string TimesText(const v1::LedgerRow& row) {
  if (row.micro_batch_count() == 1) {
    return row.layer_count() == 1 ? "" : Grouped(row.layer_count());
  }
  return absl::StrCat(Grouped(row.layer_count()), " x ", Grouped(row.micro_batch_count()));
}

// "[64, 32]"; "[64, 32]: 512" where ranks share it, for all layers together; "b s h: 1,024".
std::string ShapeText(const v1::LedgerRow& row) {
  std::string shape = row.shape();
  if (!shape.empty()) {
    absl::StrAppend(&shape, ": ", Grouped(row.elements()));
  } else if (!row.dimensions().empty()) {
    const std::vector<int64_t> sizes(row.dimensions().begin(), row.dimensions().end());
    shape = SizesText(sizes);
    double whole = 1;  // a double: any server's product need not fit an int64
    for (const int64_t size : sizes) whole *= static_cast<double>(size);
    if (whole != static_cast<double>(row.elements())) {
      absl::StrAppend(&shape, ": ", Grouped(row.elements()));
    }
  }
  if (row.scale_bytes() > 0) absl::StrAppend(&shape, " + ", Grouped(row.scale_bytes()), " B");
  return shape;
}

// "12,345,678" and "8.00 GiB"; the first column adds up.
void AddSum(const std::string& what, int64_t bytes, Table* table) {
  table->AddRow({Grouped(bytes), absl::StrCat("= ", what), "", "", Gib(bytes)});
}

void AddKind(const v1::StageMemory& stage, const MemoryKind& kind, Notes* notes, Table* table) {
  std::string owner;
  int64_t sum = 0;
  bool any = false;
  for (const v1::LedgerRow& row : stage.ledger()) {
    if (row.kind() != kind.kind) continue;
    if (!any) table->AddRow({"", kind.name});
    if (const std::string own = OwnerOf(row); own != owner) {
      owner = own;
      if (!own.empty()) table->AddRow({"", absl::StrCat("  ", own)});
    }
    any = true;
    sum += row.size_bytes();
    table->AddRow(
        {Grouped(row.size_bytes()), absl::StrCat("    ", row.name()), TimesText(row), TypeText(row),
         absl::StrCat(ShapeText(row), ShapeText(row).empty() ? "" : " ", notes->Reference(row))});
  }
  if (any) AddSum(kind.name, sum, table);
}

std::string LedgerOf(const v1::Memory& memory, const StageRun& run, Notes* notes) {
  const v1::StageMemory& stage = memory.stages(run.first);
  Table table = Titled({">bytes", "of", ">times", "type", "shape: elements"});
  int64_t sum = 0;
  for (const MemoryKind& kind : kMemoryKinds) AddKind(stage, kind, notes, &table);
  for (const v1::LedgerRow& row : stage.ledger()) sum += row.size_bytes();
  AddSum("all", sum, &table);
  return absl::StrCat("\n",
                      Wrap("",
                           absl::StrCat("Ledger of ", run.first == run.last ? "stage " : "stages ",
                                        StageRunName(memory, run), ": what each GPU holds ",
                                        PhaseWords(stage.peak_phase())),
                           2),
                      table.Text());
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

}  // namespace

std::string StageWorkTable(const v1::Memory& memory) {
  const bool host = absl::c_any_of(
      memory.stages(), [](const v1::StageMemory& stage) { return stage.host_bytes() > 0; });
  std::vector<std::string> titles = {">stage", ">layers", ">parameters", "in flight"};
  if (host) titles.emplace_back(">in host memory");
  titles.emplace_back("holds the most");
  Table table = Titled(std::move(titles));
  for (const StageRun& run : ShownStageRuns(memory)) {
    const v1::StageMemory& stage = memory.stages(run.first);
    std::vector<std::string> cells = {StageRunName(memory, run), Grouped(stage.layer_count()),
                                      Grouped(stage.parameter_count()), InFlightText(stage)};
    if (host) cells.push_back(Gib(stage.host_bytes()));
    cells.push_back(PhaseWords(stage.peak_phase()));
    AddGap(run, &table);
    table.AddRow(std::move(cells));
  }
  return table.Text();
}

std::string StageMemoryTable(const v1::Memory& memory) {
  Table table = Titled({">stage", ">state", ">activations", ">transients", ">buffers", ">reserve",
                        ">total", "low-high"});
  const std::vector<StageRun> runs = ShownStageRuns(memory);
  for (const StageRun& run : runs) {
    const v1::StageMemory& stage = memory.stages(run.first);
    const auto size = [&stage](v1::LedgerKind kind) { return GibNumber(BytesOf(stage, kind)); };
    AddGap(run, &table);
    table.AddRow({absl::StrCat(runs.size() > 1 && HoldsThePeak(memory, run) ? "> " : "",
                               StageRunName(memory, run)),
                  GibNumber(ModelState(stage)), size(v1::LEDGER_KIND_ACTIVATION),
                  size(v1::LEDGER_KIND_TRANSIENT), size(v1::LEDGER_KIND_COMMUNICATION_BUFFER),
                  size(v1::LEDGER_KIND_FRAMEWORK_RESERVE), GibNumber(stage.total_bytes()),
                  absl::StrCat(GibNumber(stage.process_bytes().low()), "-",
                               GibNumber(stage.process_bytes().high()))});
  }
  return table.Text();
}

std::string LedgerSections(const v1::Memory& memory, const SourceList& sources) {
  std::string out;
  Notes notes(sources);
  for (const StageRun& run : StageRunsOf(memory)) {
    if (!memory.stages(run.first).ledger().empty()) out += LedgerOf(memory, run, &notes);
  }
  if (out.empty()) return "";
  return absl::StrCat(out, "\nNotes (times: layers x micro-batches in flight)\n", notes.Text());
}

std::string NearestChange(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  if (!IsByStage(plan) || !HasChangesToSay(plan)) return "";
  if (memory.changes().empty()) {
    return absl::StrCat("none of ", Grouped(memory.changes_considered()),
                        " that were considered makes it fit");
  }
  const v1::FittingChange& first = memory.changes(0);
  const int others = memory.changes_size() - 1;
  return absl::StrCat(
      words::ChangeWords(first), " makes it fit: ", IntervalText(first.peak_bytes()), "; costs ",
      first.cost_text(), others > 0 ? absl::StrCat(" (or one of ", others, " more: -v)") : "");
}

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
  Table table = Titled({"the peak is", "with"});
  for (const v1::FittingChange& change : memory.changes()) {
    table.AddRow({IntervalText(change.peak_bytes()),
                  absl::StrCat(words::ChangeWords(change), "; costs ", change.cost_text())});
  }
  return absl::StrCat("\nWhat to change: each of these makes it fit, the cheapest first (",
                      considered, " considered",
                      memory.changes_search_ended_early() ? ", others left out" : "", ")\n",
                      table.Text());
}

}  // namespace sextant::client
