#include <google/protobuf/util/message_differencer.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/report/lines.h"
#include "client/report/operation_text.h"
#include "client/text/amounts.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

std::string IntensityCell(const v1::CostSum& sum) {
  return sum.has_arithmetic_intensity() ? IntensityNumber(sum.arithmetic_intensity()) : kNoValue;
}

// The terms of one kernel: what, how much, why.
std::string TermTable(const v1::StepCost& step, size_t indent) {
  Table table = Titled({"", ">", ""}, indent);
  for (const v1::ArithmeticTerm& term : step.arithmetic()) {
    table.AddRow({term.name(), ShortFlops(term.flops()), term.reason()});
  }
  for (const v1::TrafficTerm& term : step.traffic()) {
    table.AddRow({absl::StrCat(term.written() ? "write " : "read ", term.array().name()),
                  ShortBytes(term.size_bytes()), term.reason()});
  }
  table.AddRow({"moved", ShortBytes(MovedBytes(step.sum())),
                absl::StrCat(Grouped(step.sum().read_bytes()), " bytes read, ",
                             Grouped(step.sum().written_bytes()), " written")});
  return table.Text();
}

// A row a kernel, and their sum where there are several; names come last, where they may wrap.
std::vector<std::string> KernelRows(const v1::OperationCost& cost) {
  Table table = Titled({">", ">", ">", ">", ""});
  const auto add = [&table](const v1::CostSum& sum, const std::string& name) {
    table.AddRow({ShortFlops(TotalFlops(sum)), ShortBytes(sum.read_bytes()),
                  ShortBytes(sum.written_bytes()), IntensityCell(sum), name});
  };
  table.AddRow({"arithmetic", "read", "written", "FLOP/byte", "kernel"});
  for (const v1::StepCost& step : cost.steps()) add(step.sum(), step.name());
  if (cost.steps_size() > 1) add(cost.sum(), "all");
  return table.RowTexts();
}

std::string KernelTable(const v1::OperationCost& cost) {
  return absl::StrJoin(KernelRows(cost), "");
}

// A kernel's arithmetic, one line or more a term; each term has its own figure where there are
// several.
std::string ArithmeticLines(const v1::StepCost& step) {
  std::string out;
  for (const v1::ArithmeticTerm& term : step.arithmetic()) {
    const std::string figure =
        step.arithmetic_size() > 1 ? absl::StrCat(", ", ShortFlops(term.flops())) : "";
    out += Wrap("      ", absl::StrCat(term.name(), figure, ": ", term.reason()), 8);
  }
  return out;
}

// "2.00 x forward"; "" where forward does no arithmetic.
std::string OfForward(const v1::CostSum& sum, const v1::OperationCost& forward) {
  const double base = TotalFlops(forward.sum());
  return base > 0 ? absl::StrCat(RatioText(TotalFlops(sum) / base), " forward") : "";
}

std::string SavedTable(const v1::BackwardCost& backward) {
  if (backward.saved().empty()) return Wrap("  ", "Nothing of the forward pass is kept.", 2);
  Table table = Titled({"", ">", ""});
  for (const v1::SavedArray& saved : backward.saved()) {
    table.AddRow({absl::StrCat("keep ", saved.array().name()),
                  ShortBytes(saved.array().size_bytes()),
                  absl::StrCat(saved.reason(),
                               saved.held_anyway() ? "; a parameter, in memory anyway" : "")});
  }
  return table.Text();
}

std::string WithoutInput(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_backward_without_input() || response.operands().empty()) return "";
  const v1::BackwardCost& rest = response.backward_without_input();
  std::vector<std::string> parts = {SumText(rest.cost().sum())};
  const std::string ratio = OfForward(rest.cost().sum(), response.forward());
  if (!ratio.empty()) parts.push_back(ratio);
  parts.push_back(absl::StrCat("keeps ", ShortBytes(rest.saved_bytes())));
  return Wrap("  ",
              absl::StrCat("Without the gradient of ", response.operands(0).name(),
                           ", as in a model's first layer: ", absl::StrJoin(parts, ", ")),
              4);
}

using Order = v1::EinsumAnalysis::Order;
using Step = v1::EinsumAnalysis::Step;

// "operand 1", counted from 0, or "part 1" for an earlier step's result, counted from 1: the names
// that kernels use.
std::string PartName(int32_t index, int operand_count) {
  return index < operand_count ? absl::StrCat("operand ", index)
                               : absl::StrCat("part ", index - operand_count + 1);
}

std::string StepName(const Step& step, int operand_count) {
  const std::string left = PartName(step.left(), operand_count);
  if (!step.has_right()) return absl::StrCat(step.flops() > 0 ? "sum " : "copy ", left);
  return absl::StrCat(left, " x ", PartName(step.right(), operand_count));
}

std::string OrderText(const std::string& title, const Order& order, int operand_count) {
  Table table = Titled({">", "", ">", ">", ""}, 4);
  for (int i = 0; i < order.steps_size(); ++i) {
    const Step& step = order.steps(i);
    table.AddRow({absl::StrCat(i + 1, "."), StepName(step, operand_count), ShortFlops(step.flops()),
                  absl::StrCat(Grouped(step.result_elements()), " elements"),
                  absl::StrCat("\"", step.axes(), "\"")});
  }
  const std::string largest =
      order.steps_size() > 1
          ? absl::StrCat("; at most ", Grouped(order.largest_intermediate_elements()),
                         " elements between steps")
          : "";
  return absl::StrCat(Wrap("  ", absl::StrCat(title, ": ", ExactFlops(order.flops()), largest), 4),
                      table.Text());
}

std::string AxesText(const v1::EinsumAnalysis& einsum) {
  return absl::StrJoin(einsum.axes(), ", ", [](std::string* out, const v1::AxisSize& axis) {
    absl::StrAppend(out, axis.name(), " = ", axis.size());
  });
}

std::string LeftToRightText(const v1::EinsumAnalysis& einsum, int operand_count) {
  if (einsum.has_left_to_right()) {
    return OrderText("From left to right", einsum.left_to_right(), operand_count);
  }
  return "  From left to right: not possible, an intermediate would have more than 9.2e18 "
         "elements\n";
}

}  // namespace

std::string SumText(const v1::CostSum& sum) {
  return absl::StrCat(ExactFlops(TotalFlops(sum)), ", ", ShortBytes(MovedBytes(sum)), " moved",
                      sum.has_arithmetic_intensity()
                          ? absl::StrCat(", ", IntensityText(sum.arithmetic_intensity()))
                          : "");
}

std::string KernelsText(const v1::OperationCost& cost) {
  const std::vector<std::string> rows = KernelRows(cost);
  std::string out = rows[0];
  for (size_t i = 1; i < rows.size(); ++i) {
    out += rows[i];
    const int step = static_cast<int>(i) - 1;
    if (step < cost.steps_size()) out += ArithmeticLines(cost.steps(step));
  }
  return out;
}

std::string ForwardSection(const v1::AnalyzeOperationResponse& response) {
  const v1::OperationCost& forward = response.forward();
  if (forward.steps().empty()) return "";
  if (forward.steps_size() == 1) {
    const v1::StepCost& step = forward.steps(0);
    return absl::StrCat("\n", Wrap("Forward: ", step.name(), 2), TermTable(step, 2));
  }
  std::string out = absl::StrCat("\nForward, kernel by kernel\n", KernelTable(forward));
  for (const v1::StepCost& step : forward.steps()) {
    absl::StrAppend(&out, Wrap("  ", step.name(), 4), TermTable(step, 4));
  }
  return out;
}

std::string EinsumSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_einsum()) return "";
  const v1::EinsumAnalysis& einsum = response.einsum();
  const int operand_count = response.operands_size();
  Table table = Titled({"", ""});
  table.AddRow({"result", SizesText(einsum.shape())});
  table.AddRow({"axes", AxesText(einsum)});
  table.AddRow({"summed",
                einsum.summed_axes().empty() ? "none" : absl::StrJoin(einsum.summed_axes(), ", ")});
  const bool same =
      google::protobuf::util::MessageDifferencer::Equals(einsum.best(), einsum.left_to_right());
  const std::string best = einsum.best_is_exact()
                               ? "Order of fewest FLOPs"
                               : "A good order (too many operands to try every one)";
  return absl::StrCat("\nContraction\n", table.Text(),
                      OrderText(same ? absl::StrCat(best, ", which is from left to right") : best,
                                einsum.best(), operand_count),
                      same ? "" : LeftToRightText(einsum, operand_count));
}

std::string UnfusedSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_unfused()) return "";
  const v1::CostSum& fused = response.forward().sum();
  const v1::CostSum& unfused = response.unfused().sum();
  std::string title = "Unfused, in kernels that each pay their round trip";
  if (MovedBytes(fused) > 0) {
    const double ratio =
        static_cast<double>(MovedBytes(unfused)) / static_cast<double>(MovedBytes(fused));
    absl::StrAppend(&title, ": ", RatioText(ratio), " the bytes");
  }
  return absl::StrCat("\n", Wrap("", title, 2), KernelTable(response.unfused()));
}

std::string BackwardSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_backward()) return "";
  const v1::BackwardCost& backward = response.backward();
  const std::string ratio = OfForward(backward.cost().sum(), response.forward());
  return absl::StrCat("\n", Wrap("", absl::StrCat("Backward", ratio.empty() ? "" : ": ", ratio), 2),
                      KernelsText(backward.cost()), SavedTable(backward), WithoutInput(response));
}

}  // namespace sextant::client
