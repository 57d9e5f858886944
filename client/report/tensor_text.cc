
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/report/lines.h"
#include "client/report/operation_text.h"
#include "client/text/amounts.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr size_t kStepHang = 6;  // below a step's name

std::string SizeName(const v1::AxisSize& axis) {
  return absl::StrCat(axis.name(), " = ", axis.size());
}

template <typename Axes>
std::string AxesText(const Axes& axes) {
  return absl::StrJoin(axes, ", ", [](std::string* out, const v1::AxisSize& axis) {
    absl::StrAppend(out, SizeName(axis));
  });
}

// "[4, 8] bf16: 32 elements, 64 bytes, contiguous".
std::string Headline(const v1::TensorLayout& tensor) {
  const std::string order = tensor.is_contiguous() ? "contiguous" : "not contiguous";
  const std::string storage =
      tensor.storage_elements() == tensor.element_count()
          ? ""
          : absl::StrCat(" of a storage of ", Grouped(tensor.storage_elements()), " elements");
  const std::string offset =
      tensor.offset_elements() == 0
          ? ""
          : absl::StrCat(", from storage position ", Grouped(tensor.offset_elements()));
  return Wrap("",
              absl::StrCat(SizesText(tensor.shape()), " ", DataTypeName(tensor.data_type()), ": ",
                           Counted(tensor.element_count(), "element"), storage, ", ",
                           ExactBytes(tensor.size_bytes()), ", strides ",
                           SizesText(tensor.strides()), offset, ", ", order),
              2);
}

std::string ResultName(const v1::TensorStepResult& step) {
  if (step.has_check()) return step.check().matches() ? "matches" : "MISMATCH";
  if (step.has_storage_position()) return "found";
  return step.is_view() ? "view" : "copy";
}

// The mismatches that the step's reason does not state, and the sizes bound so far.
std::string CheckText(const v1::TensorStepResult& step) {
  const v1::ShapeCheck& check = step.check();
  std::string out;
  for (const std::string& mismatch : check.mismatches()) {
    if (!absl::StrContains(step.reason(), mismatch)) out += Wrap("      - ", mismatch, 8);
  }
  std::vector<std::string> bound;
  for (const v1::AxisSize& axis : check.sizes()) bound.push_back(SizeName(axis));
  for (const v1::ShapeCheck::Several& several : check.several()) {
    bound.push_back(absl::StrCat("*", several.name(), " = ", SizesText(several.sizes())));
  }
  if (bound.empty()) return out;
  return absl::StrCat(out, Wrap("      so far: ", absl::StrJoin(bound, ", "), kStepHang));
}

// The axes and the cost of rearrange, repeat and reduce.
std::string ExpressionText(const v1::TensorStepResult& step) {
  std::vector<std::string> parts;
  if (!step.axes().empty()) parts.push_back(AxesText(step.axes()));
  if (step.read_bytes() > 0 || step.written_bytes() > 0) {
    parts.push_back(absl::StrCat("reads ", ShortBytes(step.read_bytes()), ", writes ",
                                 ShortBytes(step.written_bytes())));
  }
  if (step.flops() > 0) parts.push_back(ShortFlops(step.flops()));
  return parts.empty() ? "" : Wrap("      ", absl::StrJoin(parts, "; "), kStepHang);
}

std::string Details(const v1::TensorStepResult& step, const std::string& written) {
  return absl::StrCat(Wrap("      ", absl::StrCat(written, ": ", step.reason()), kStepHang),
                      ExpressionText(step), CheckText(step));
}

std::string StepsText(const v1::AnalyzeTensorResponse& response,
                      const std::vector<std::string>& steps) {
  Table table = Titled({">", "step", "result", ">allocates", "shape", "strides"});
  for (int i = 0; i < response.steps_size(); ++i) {
    const v1::TensorStepResult& step = response.steps(i);
    table.AddRow({absl::StrCat(i + 1), step.name(), ResultName(step),
                  ShortBytes(step.allocated_bytes()), SizesText(step.tensor().shape()),
                  SizesText(step.tensor().strides())});
  }
  const std::vector<std::string> rows = table.RowTexts();
  std::string out = rows.front();
  for (int i = 0; i < response.steps_size(); ++i) {
    const auto index = static_cast<size_t>(i);
    absl::StrAppend(&out, rows[index + 1], Details(response.steps(i), steps[index]));
  }
  return out;
}

}  // namespace

std::string TensorText(const v1::AnalyzeTensorResponse& response,
                       const std::vector<std::string>& steps) {
  std::string out = Headline(response.tensor());
  if (!response.steps().empty()) {
    absl::StrAppend(
        &out, "\n", StepsText(response, steps), "\n",
        Wrap("", absl::StrCat("Allocated: ", ExactBytes(response.allocated_bytes())), 2));
  }
  return absl::StrCat(out, EngineLine(response.engine_version()));
}

std::string TokensText(const v1::DescribeTokensRequest& request,
                       const v1::DescribeTokensResponse& response) {
  std::string out = Wrap("",
                         absl::StrCat(Grouped(request.token_count()), " tokens at ",
                                      Counted(response.bytes_per_id(), "byte"),
                                      " an id: ", ExactBytes(response.size_bytes())),
                         2);
  if (response.has_bytes_per_second()) {
    absl::StrAppend(&out,
                    Wrap("  ",
                         absl::StrCat("read at ", Plain(request.tokens_per_second()),
                                      " tokens/s: ", Scaled(response.bytes_per_second(), "B/s")),
                         2));
  }
  return absl::StrCat(out, EngineLine(response.engine_version()));
}

}  // namespace sextant::client
