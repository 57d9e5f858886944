
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/report/lines.h"
#include "client/report/operation_text.h"
#include "client/text/amounts.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

std::string KindName(v1::StorageKind kind) {
  return absl::StrReplaceAll(EnumName(kind), {{"-", " "}});
}

std::string PeakLine(const v1::GraphMemory& memory) {
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
  Table table = Titled({"array", "kind", ">size", "since"});
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

// True for weights, gradients and optimizer states: there are many, so each kind is shown as a sum.
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
  table->AddRow({Counted(count, "array"), KindName(kind), ShortBytes(bytes)});
}

std::string PeakTable(const v1::GraphMemory& memory) {
  Table table = Titled({"array", "kind", ">size"});
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

std::string SectionsOf(const v1::GraphMemory& memory, const std::string& of) {
  return absl::StrCat("Saved", of, "\n", SavedTable(memory), "\nAt the peak", of, ": ",
                      memory.peak_moment(), "\n", PeakTable(memory));
}

// The peak in one line, with everything saved and, where segments are checkpointed, with only the
// checkpoints saved.
std::string MemorySummary(const v1::AnalyzeGraphResponse& response) {
  std::string out = Line("  peak        ", PeakLine(response.memory()));
  if (response.has_checkpointed_memory()) {
    out += Line("  recomputed  ", PeakLine(response.checkpointed_memory()));
  }
  return out;
}

std::string ParametersText(const v1::GraphTotals& totals) {
  std::string out = absl::StrCat(Grouped(totals.trainable_parameters()), " trained");
  if (totals.frozen_parameters() > 0) {
    absl::StrAppend(&out, ", ", Grouped(totals.frozen_parameters()), " frozen");
  }
  if (totals.parameters_without_gradient() > 0) {
    absl::StrAppend(&out, " (", Grouped(totals.parameters_without_gradient()),
                    " of them reached by no gradient)");
  }
  return absl::StrCat(out, ", ", ExactBytes(totals.parameter_bytes()));
}

std::string OptimizerText(const v1::GraphTotals& totals) {
  if (totals.optimizer().empty()) return "nothing kept";
  return absl::StrCat(
      ExactBytes(totals.optimizer_bytes()), ": ",
      absl::StrJoin(totals.optimizer(), ", ", [](std::string* out, const v1::OptimizerBuffer& b) {
        absl::StrAppend(out, b.name(), " ", ShortBytes(b.size_bytes()));
      }));
}

std::string BackwardText(const v1::GraphTotals& totals) {
  const v1::CostSum& sum = totals.backward();
  if (TotalFlops(sum) == 0 && MovedBytes(sum) == 0) return "none: nothing asks for a gradient";
  std::string out =
      absl::StrCat(ExactFlops(TotalFlops(sum)), ": ", ShortFlops(totals.backward_parameter_flops()),
                   " for parameters, ", ShortFlops(totals.backward_input_flops()),
                   " for what lies between; ", ShortBytes(MovedBytes(sum)), " moved");
  if (totals.forward().matrix_flops() > 0) {
    absl::StrAppend(&out, "; matrix products ",
                    RatioText(sum.matrix_flops() / totals.forward().matrix_flops()),
                    " the forward pass's");
  }
  return out;
}

std::string Summary(const v1::AnalyzeGraphResponse& response) {
  const v1::GraphTotals& totals = response.totals();
  std::string out = Wrap(
      "",
      absl::StrCat("graph of ", response.operations_size(), " operations, ",
                   response.tensors_size(), " tensors; gradients from ",
                   response.losses().empty() ? "nothing" : absl::StrJoin(response.losses(), ", ")),
      2);
  absl::StrAppend(&out, Line("  parameters  ", ParametersText(totals)),
                  Line("  gradients   ", ExactBytes(totals.gradient_bytes())),
                  Line("  optimizer   ", OptimizerText(totals)),
                  Line("  forward     ", SumText(totals.forward())),
                  Line("  backward    ", BackwardText(totals)));
  if (totals.accumulation_count() > 0) {
    absl::StrAppend(
        &out, Line("  added up    ", absl::StrCat(totals.accumulation_count(),
                                                  " gradients of tensors read more than once, ",
                                                  ExactFlops(TotalFlops(totals.accumulation())))));
  }
  absl::StrAppend(&out, Line("  update      ", SumText(totals.update())), MemorySummary(response));
  return out;
}

std::string OperationsTable(const v1::AnalyzeGraphResponse& response) {
  Table table = Titled({"operation", "kind", ">forward", ">backward", "gradients"});
  for (const v1::GraphOperationRow& row : response.operations()) {
    const bool has_backward = row.has_backward();
    table.AddRow({row.name(), absl::StrReplaceAll(row.kind(), {{"_", "-"}}),
                  ShortFlops(TotalFlops(row.forward())),
                  has_backward ? ShortFlops(TotalFlops(row.backward())) : "-",
                  row.gradients().empty() ? (row.note().empty() ? "-" : row.note())
                                          : absl::StrJoin(row.gradients(), ", ")});
  }
  return absl::StrCat("Operations\n", table.Text());
}

std::string TensorsTable(const v1::AnalyzeGraphResponse& response) {
  Table table = Titled({"tensor", "kind", "shape", "type", ">size", "gradients that arrive"});
  for (const v1::GraphTensorRow& row : response.tensors()) {
    const std::string kind = EnumName(row.kind());
    table.AddRow(
        {row.name(), row.view_of().empty() ? kind : absl::StrCat("view of ", row.view_of()),
         SizesText(row.shape()), DataTypeName(row.data_type()), ShortBytes(row.size_bytes()),
         row.has_gradient() ? absl::StrCat(row.gradient_count()) : "-"});
  }
  return absl::StrCat("Tensors\n", table.Text());
}

std::string StepsText(const v1::AnalyzeGraphResponse& response) {
  std::string out;
  for (const v1::GraphOperationRow& row : response.operations()) {
    if (row.has_forward_steps()) {
      absl::StrAppend(&out, "\nForward of ", row.name(), "\n", KernelsText(row.forward_steps()));
    }
    if (row.has_backward_steps()) {
      absl::StrAppend(&out, "\nBackward of ", row.name(), "\n",
                      KernelsText(row.backward_steps().cost()));
    }
  }
  return out;
}

}  // namespace

std::string MemorySections(const v1::AnalyzeGraphResponse& response) {
  if (!response.has_checkpointed_memory()) return SectionsOf(response.memory(), "");
  return absl::StrCat(SectionsOf(response.memory(), " without checkpointing"), "\n",
                      SectionsOf(response.checkpointed_memory(), " with checkpointing"));
}

std::string GraphText(const v1::AnalyzeGraphResponse& response) {
  return absl::StrCat(Summary(response), "\n", OperationsTable(response), "\n",
                      TensorsTable(response), "\n", MemorySections(response), StepsText(response),
                      EngineLine(response.engine_version()));
}

}  // namespace sextant::client
