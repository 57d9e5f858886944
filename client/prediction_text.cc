#include "client/prediction_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/amounts.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/kernel_rates_text.h"
#include "client/measured_time.h"
#include "client/table.h"

namespace sextant {
namespace {

void AddTimeRow(const char* label, const v1::KernelPrediction& prediction, Table& table) {
  table.AddRow(
      {label, TimeText(prediction.expected_seconds()),
       absl::StrCat(TimeText(prediction.low_seconds()), " to ",
                    TimeText(prediction.high_seconds())),
       prediction.flops_per_second() > 0 ? Scaled(prediction.flops_per_second(), "FLOP/s") : "-",
       prediction.has_datasheet_mfu() ? Percent(prediction.datasheet_mfu()) : "-",
       KernelBasisText(prediction.basis())});
}

std::string NearestText(const v1::KernelPrediction& prediction) {
  std::vector<std::string> shapes;
  for (const v1::NearbyKernel& near : prediction.nearest()) {
    shapes.push_back(absl::StrCat(near.shape(), " ", TimeText(near.seconds())));
  }
  return absl::StrJoin(shapes, ", ");
}

std::string SourceText(const v1::KernelPrediction& prediction, absl::Time now) {
  std::string source = absl::StrCat(EnumName(*v1::RateSource_descriptor(), prediction.source()),
                                    ", ", prediction.citation());
  if (prediction.has_measured_time()) {
    absl::StrAppend(&source, ", ", AgeText(AgeSeconds(prediction.measured_time(), now)));
  }
  return source;
}

}  // namespace

std::string PredictionSummary(const v1::OperationTime& time) {
  if (!time.has_predicted_forward()) return "";
  const v1::KernelPrediction& forward = time.predicted_forward();
  return absl::StrCat(TimeText(forward.expected_seconds()), " predicted, ",
                      TimeText(forward.low_seconds()), " to ", TimeText(forward.high_seconds()),
                      " (80 %)");
}

std::string PredictionSection(const v1::OperationTime& time, absl::Time now) {
  if (!time.has_predicted_forward()) return "";
  const v1::KernelPrediction& forward = time.predicted_forward();
  Table table(
      2, {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({"", "time", "80 % interval", "rate", "of peak", "from"});
  AddTimeRow("forward", forward, table);
  if (time.has_predicted_unfused()) AddTimeRow("unfused", time.predicted_unfused(), table);
  if (time.has_predicted_backward()) AddTimeRow("backward", time.predicted_backward(), table);
  const std::string source = SourceText(forward, now);
  const std::string of_backward =
      time.has_predicted_backward() ? SourceText(time.predicted_backward(), now) : source;
  const std::string error = PredictionErrorText(forward.error());
  const std::string nearest = NearestText(forward);
  return absl::StrCat(
      "\nPredicted from ",
      forward.source() == v1::RATE_SOURCE_DATASHEET ? "published rates" : "measured kernels",
      forward.regime() == v1::KERNEL_REGIME_SUSTAINED ? ", sustained\n" : "\n", table.Text(),
      Wrap("  source: ", source, 4),
      of_backward == source ? "" : Wrap("  source of backward: ", of_backward, 4),
      Wrap("  form: ", absl::StrCat(Words(forward.form()), error.empty() ? "" : "; ", error), 4),
      nearest.empty() ? "" : Wrap("  nearest measured: ", nearest, 4));
}

}  // namespace sextant
