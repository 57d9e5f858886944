#include "client/einsum_text.h"

#include <google/protobuf/util/message_differencer.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/amounts.h"
#include "client/format.h"
#include "client/sizes.h"
#include "client/table.h"

namespace sextant {
namespace {

using Order = v1::EinsumAnalysis::Order;
using Step = v1::EinsumAnalysis::Step;

// "operand 1", counted from 0, or "part 1" of what an earlier step made, from 1: as the kernels'
// names have them.
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
  Table table(4, {Align::kRight, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
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

std::string EinsumSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_einsum()) return "";
  const v1::EinsumAnalysis& einsum = response.einsum();
  const int operand_count = response.operands_size();
  Table table(2, {Align::kLeft, Align::kLeft});
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

}  // namespace sextant
