#include "client/graph_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/amounts.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/graph_memory_text.h"
#include "client/operation_cost_text.h"
#include "client/sizes.h"
#include "client/table.h"

namespace sextant {
namespace {

constexpr size_t kGraphHang = 14;  // below the text behind "  parameters  "

std::string Row(const char* name, const std::string& text) {
  std::string first = absl::StrCat("  ", name);
  first.resize(kGraphHang, ' ');
  return Wrap(first, text, kGraphHang);
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
  absl::StrAppend(&out, Row("parameters", ParametersText(totals)),
                  Row("gradients", ExactBytes(totals.gradient_bytes())),
                  Row("optimizer", OptimizerText(totals)),
                  Row("forward", SumText(totals.forward())), Row("backward", BackwardText(totals)));
  if (totals.accumulation_count() > 0) {
    absl::StrAppend(&out,
                    Row("added up", absl::StrCat(totals.accumulation_count(),
                                                 " gradients of tensors read more than once, ",
                                                 ExactFlops(TotalFlops(totals.accumulation())))));
  }
  absl::StrAppend(&out, Row("update", SumText(totals.update())), MemorySummary(response));
  return out;
}

std::string OperationsTable(const v1::AnalyzeGraphResponse& response) {
  Table table(2, {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({"operation", "kind", "forward", "backward", "gradients"});
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
  Table table(
      2, {Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
  table.AddRow({"tensor", "kind", "shape", "type", "size", "gradients that arrive"});
  for (const v1::GraphTensorRow& row : response.tensors()) {
    const std::string kind = EnumName(*v1::GraphTensorKind_descriptor(), row.kind());
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

std::string GraphText(const v1::AnalyzeGraphResponse& response) {
  return absl::StrCat(Summary(response), "\n", OperationsTable(response), "\n",
                      TensorsTable(response), "\n", MemoryText(response), StepsText(response), "\n",
                      Wrap("", absl::StrCat("engine ", response.engine_version()), 0));
}

}  // namespace sextant
