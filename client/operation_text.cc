#include "client/operation_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/amounts.h"
#include "client/einsum_text.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/operation_cost_text.h"
#include "client/operation_time_text.h"
#include "client/prediction_text.h"
#include "client/rates_text.h"
#include "client/sizes.h"
#include "client/table.h"

namespace sextant {
namespace {

using Arrays = google::protobuf::RepeatedPtrField<v1::OperationArray>;

constexpr size_t kBehindBackward = 12;  // below the text behind "  backward  "

// "a [2, 3] bf16, b [3, 4] bf16".
std::string ArraysText(const Arrays& arrays) {
  return absl::StrJoin(arrays, ", ", [](std::string* out, const v1::OperationArray& array) {
    const std::string type = DataTypeName(array.data_type());
    absl::StrAppend(out, array.name(), " ", SizesText(array.shape()), type.empty() ? "" : " ",
                    type);
  });
}

std::string TypesText(const v1::OperationTypes& types) {
  if (types.input() == v1::DATA_TYPE_UNSPECIFIED) return "";  // a copy adds nothing up
  return absl::StrCat("; sums in ", DataTypeName(types.accumulation()));
}

std::string BackwardSummary(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_backward()) return "none: it has no gradient";
  const v1::BackwardCost& backward = response.backward();
  const v1::CostSum& sum = backward.cost().sum();
  return absl::StrCat(ExactFlops(TotalFlops(sum)), ", ", ShortBytes(MovedBytes(sum)),
                      " moved, keeps ", ShortBytes(backward.saved_bytes()));
}

std::string HostCopySummary(const v1::HostCopyTime& copy) {
  if (copy.no_overlap_seconds() == copy.full_overlap_seconds()) {
    return TimeText(copy.no_overlap_seconds());
  }
  return absl::StrCat(TimeText(copy.no_overlap_seconds()), ", staging and then the link; ",
                      TimeText(copy.full_overlap_seconds()), " at best, in chunks that overlap");
}

// What it is, and what one wants to know first.
std::string Headline(const v1::AnalyzeOperationResponse& response) {
  const std::string name = absl::StrReplaceAll(response.name(), {{"_", "-"}});
  std::string out;
  if (response.operands().empty()) {
    out = Wrap("", name, 2);
  } else {
    out = Wrap("",
               absl::StrCat(name, ": ", ArraysText(response.operands()), " -> ",
                            ArraysText(response.outputs()), TypesText(response.data_types())),
               2);
  }
  absl::StrAppend(&out, Wrap("  forward   ", SumText(response.forward().sum()), kBehindBackward));
  if (!response.has_host_copy()) {
    absl::StrAppend(&out, Wrap("  backward  ", BackwardSummary(response), kBehindBackward));
  }
  if (response.has_host_copy()) {
    absl::StrAppend(&out,
                    Wrap("  time      ", HostCopySummary(response.host_copy()), kBehindBackward));
  }
  if (response.has_time()) {
    const std::string predicted = PredictionSummary(response.time());
    if (!predicted.empty()) absl::StrAppend(&out, Wrap("  time      ", predicted, kBehindBackward));
    absl::StrAppend(&out,
                    Wrap(predicted.empty() ? "  time      " : "  roofline  ",
                         TimeSummary(response.time()), kBehindBackward),
                    Wrap("  advice    ", response.time().advice(), kBehindBackward));
  }
  return out;
}

std::string PairsSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_attended_pairs()) return "";
  return absl::StrCat("\nPairs of a query and a key, a head of a sequence\n",
                      Wrap("  ", Plain(response.attended_pairs()), 2));
}

std::string InitializationSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_initialization()) return "";
  const v1::LinearInitialization& start = response.initialization();
  Table table(2, {Align::kLeft, Align::kRight, Align::kLeft});
  table.AddRow({"weights' deviation", "outputs'", ""});
  table.AddRow({"1", Plain(start.output_deviation_of_unit_weights()), "sqrt(fan-in)"});
  table.AddRow({Plain(start.scaled_weight_deviation()),
                Plain(start.output_deviation_of_scaled_weights()), "1 / sqrt(fan-in)"});
  table.AddRow({"the same, truncated", Plain(start.output_deviation_of_truncated_weights()),
                "drawn again beyond 3 deviations"});
  return absl::StrCat("\nAt the start (inputs of mean 0, variance 1; fan-in ",
                      Grouped(start.fan_in()), "): standard deviations\n", table.Text());
}

std::string Ending(const v1::AnalyzeOperationResponse& response) {
  std::string text = absl::StrCat("engine ", response.engine_version());
  if (response.has_time()) {
    absl::StrAppend(&text, ", rates ", response.time().rates_fingerprint());
  }
  return absl::StrCat("\n", Wrap("", text, 0));
}

}  // namespace

std::string OperationText(const v1::AnalyzeOperationResponse& response, const std::string& plot,
                          absl::Time now) {
  return absl::StrCat(Headline(response), ForwardSection(response), PairsSection(response),
                      EinsumSection(response), UnfusedSection(response), BackwardSection(response),
                      InitializationSection(response), TimeSection(response),
                      PredictionSection(response.time(), now), plot, UtilisationSection(response),
                      RatesText(response.time().rates(), now),
                      AssumptionsText(response.time().assumptions()), Ending(response));
}

}  // namespace sextant
