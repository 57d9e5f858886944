#include "client/memory_ledger_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/format.h"
#include "client/memory_chart.h"
#include "client/memory_stages.h"
#include "client/sizes.h"
#include "client/table.h"

namespace sextant {
namespace {

// What many rows have in common, said once.
class Notes {
 public:
  // "[3]".
  std::string Reference(const v1::LedgerRow& row) {
    std::vector<std::string> parts;
    for (const std::string& part : {row.alive(), row.why()}) {
      if (!part.empty()) parts.push_back(part);
    }
    std::string note = absl::StrJoin(parts, "; ");
    if (!row.source().empty()) absl::StrAppend(&note, " [", row.source(), "]");
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
  std::vector<std::string> notes_;
};

// "chunk 1, decoder, dense": whose rows follow.
std::string OwnerOf(const v1::LedgerRow& row) {
  std::vector<std::string> words;
  if (row.has_chunk()) words.push_back(absl::StrCat("chunk ", row.chunk()));
  if (!row.part().empty()) words.push_back(Words(row.part()));
  if (!row.layer_kind().empty()) words.push_back(row.layer_kind());
  return absl::StrJoin(words, ", ");
}

// "20 x 4": layers and micro-batches; a one is not written.
std::string TimesText(const v1::LedgerRow& row) {
  if (row.micro_batch_count() == 1) {
    return row.layer_count() == 1 ? "" : Grouped(row.layer_count());
  }
  return absl::StrCat(Grouped(row.layer_count()), " x ", Grouped(row.micro_batch_count()));
}

// "[64, 32]"; "[64, 32]: 512" where ranks share it out, of all layers together; "b s h: 1,024".
std::string ShapeText(const v1::LedgerRow& row) {
  std::string shape = row.shape();
  if (!shape.empty()) {
    absl::StrAppend(&shape, ": ", Grouped(row.elements()));
  } else if (!row.dimensions().empty()) {
    const std::vector<int64_t> sizes(row.dimensions().begin(), row.dimensions().end());
    shape = SizesText(sizes);
    double whole = 1;  // of any server: it need not fit an int64
    for (const int64_t size : sizes) whole *= static_cast<double>(size);
    if (whole != static_cast<double>(row.elements())) {
      absl::StrAppend(&shape, ": ", Grouped(row.elements()));
    }
  }
  if (row.scale_bytes() > 0) absl::StrAppend(&shape, " + ", Grouped(row.scale_bytes()), " B");
  return shape;
}

// "12,345,678" and "8.00 GiB", which adds up in the first column.
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
        {Grouped(row.size_bytes()), absl::StrCat("    ", row.name()), TimesText(row),
         row.data_type(),
         absl::StrCat(ShapeText(row), ShapeText(row).empty() ? "" : " ", notes->Reference(row))});
  }
  if (any) AddSum(kind.name, sum, table);
}

std::string Section(const v1::MemoryEstimate& estimate, const StageRun& run, Notes* notes) {
  const v1::StageMemory& stage = estimate.stages(run.first);
  Table table(2, {Align::kRight, Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft});
  table.AddRow({"bytes", "of", "times", "type", "shape: elements"});
  int64_t sum = 0;
  for (const MemoryKind& kind : kMemoryKinds) AddKind(stage, kind, notes, &table);
  for (const v1::LedgerRow& row : stage.ledger()) sum += row.size_bytes();
  AddSum("all", sum, &table);
  return absl::StrCat("\n",
                      Wrap("",
                           absl::StrCat("Ledger of ", run.first == run.last ? "stage " : "stages ",
                                        StageRunName(estimate, run), ": what each GPU holds ",
                                        MomentWords(stage.moment())),
                           2),
                      table.Text());
}

}  // namespace

std::string LedgerSections(const v1::MemoryEstimate& estimate) {
  std::string out;
  Notes notes;
  for (const StageRun& run : StageRunsOf(estimate)) {
    if (!estimate.stages(run.first).ledger().empty()) out += Section(estimate, run, &notes);
  }
  if (out.empty()) return "";
  return absl::StrCat(out, "\nNotes (times: layers x micro-batches in flight)\n", notes.Text());
}

}  // namespace sextant
