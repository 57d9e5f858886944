#include "client/graph_memory_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/amounts.h"
#include "client/enum_names.h"
#include "client/operation_cost_text.h"
#include "client/table.h"

namespace sextant {
namespace {

constexpr size_t kPeakHang = 14;

std::string KindName(v1::StorageKind kind) {
  return absl::StrReplaceAll(EnumName(*v1::StorageKind_descriptor(), kind), {{"-", " "}});
}

std::string PeakText(const v1::GraphMemory& memory) {
  std::string out =
      absl::StrCat(ExactBytes(memory.peak_bytes()), " in the ", memory.peak_moment(), "; ",
                   ExactBytes(memory.saved_bytes()), " saved for the backward pass");
  if (memory.recomputed_operations() > 0) {
    absl::StrAppend(&out, "; ", memory.recomputed_operations(), " operations again, ",
                    ExactFlops(TotalFlops(memory.recompute())));
  }
  return out;
}

std::string SavedTable(const v1::GraphMemory& memory) {
  if (memory.saved().empty()) return "  nothing\n";
  Table table(2, {Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
  table.AddRow({"array", "kind", "size", "since"});
  for (const v1::SavedStorage& saved : memory.saved()) {
    table.AddRow({saved.storage().name(), KindName(saved.storage().kind()),
                  ShortBytes(saved.storage().size_bytes()),
                  absl::StrJoin(saved.readers(), "; ",
                                [](std::string* out, const v1::SavedStorage::Reader& reader) {
                                  absl::StrAppend(out, reader.operation(), ": ", reader.reason());
                                })});
  }
  return table.Text();
}

// Weights, their gradients and their optimizer's state, of which there are many: a sum each.
bool IsSummedUp(v1::StorageKind kind) {
  return kind == v1::STORAGE_KIND_PARAMETER || kind == v1::STORAGE_KIND_OPTIMIZER_STATE ||
         kind == v1::STORAGE_KIND_PARAMETER_GRADIENT;
}

void AddSum(const v1::GraphMemory& memory, v1::StorageKind kind, Table* table) {
  int64_t count = 0;
  int64_t bytes = 0;
  for (const v1::GraphStorage& storage : memory.at_peak()) {
    if (storage.kind() != kind) continue;
    ++count;
    bytes += storage.size_bytes();
  }
  if (count == 0) return;
  table->AddRow(
      {absl::StrCat(count, count == 1 ? " array" : " arrays"), KindName(kind), ShortBytes(bytes)});
}

std::string PeakTable(const v1::GraphMemory& memory) {
  Table table(2, {Align::kLeft, Align::kLeft, Align::kRight});
  table.AddRow({"array", "kind", "size"});
  AddSum(memory, v1::STORAGE_KIND_PARAMETER, &table);
  AddSum(memory, v1::STORAGE_KIND_PARAMETER_GRADIENT, &table);
  AddSum(memory, v1::STORAGE_KIND_OPTIMIZER_STATE, &table);
  for (const v1::GraphStorage& storage : memory.at_peak()) {
    if (IsSummedUp(storage.kind())) continue;
    table.AddRow({storage.name(), KindName(storage.kind()), ShortBytes(storage.size_bytes())});
  }
  table.AddRow({"all", "", ShortBytes(memory.peak_bytes())});
  return table.Text();
}

std::string Sections(const v1::GraphMemory& memory, const std::string& of) {
  return absl::StrCat("Saved", of, "\n", SavedTable(memory), "\nAt the peak", of, ": ",
                      memory.peak_moment(), "\n", PeakTable(memory));
}

}  // namespace

std::string MemorySummary(const v1::AnalyzeGraphResponse& response) {
  std::string out = Wrap("  peak        ", PeakText(response.memory()), kPeakHang);
  if (response.has_checkpointed_memory()) {
    out += Wrap("  recomputed  ", PeakText(response.checkpointed_memory()), kPeakHang);
  }
  return out;
}

std::string MemoryText(const v1::AnalyzeGraphResponse& response) {
  if (!response.has_checkpointed_memory()) return Sections(response.memory(), "");
  return absl::StrCat(Sections(response.memory(), " without checkpointing"), "\n",
                      Sections(response.checkpointed_memory(), " with checkpointing"));
}

}  // namespace sextant
