#include "client/report/operation_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/report/hardware_text.h"
#include "client/report/lines.h"
#include "client/text/amounts.h"
#include "client/text/sources.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

struct TimeColumn {
  std::string title;
  const v1::Roofline& roofline;
};

std::vector<TimeColumn> TimeColumnsOf(const v1::OperationTime& time) {
  std::vector<TimeColumn> columns = {{"forward", time.forward()}};
  if (time.has_unfused()) columns.push_back({"unfused", time.unfused()});
  if (time.has_backward()) columns.push_back({"backward", time.backward()});
  return columns;
}

std::string BoundOf(const v1::Roofline& roofline) { return EnumName(roofline.bound()); }

std::string TimesTable(const v1::OperationTime& time) {
  using R = v1::Roofline;
  const auto of = [](auto cell) {
    return [cell](const TimeColumn& column) -> std::string { return cell(column.roofline); };
  };
  const auto intensity = [](const R& r) {
    return r.has_arithmetic_intensity() ? IntensityText(r.arithmetic_intensity()) : kNoValue;
  };
  return SideBySide<TimeColumn>(
             {{"", [](const TimeColumn& column) { return column.title; }},
              {"bound by", of(BoundOf)},
              {"intensity", of(intensity)},
              {"ridge", of([](const R& r) { return IntensityText(r.ridge_flops_per_byte()); })},
              {"arithmetic", of([](const R& r) { return TimeText(r.compute_seconds()); })},
              {"memory", of([](const R& r) { return TimeText(r.memory_seconds()); })},
              {"launches", of([](const R& r) { return TimeText(r.launch_seconds()); })},
              {"time", of([](const R& r) { return TimeText(r.total_seconds()); })},
              {"at least (classical)", of([](const R& r) { return TimeText(r.least_seconds()); })},
              {"of peak", of([](const R& r) { return Percent(r.fraction_of_peak()); })}},
             TimeColumnsOf(time))
      .Text();
}

std::string RowsAtRidge(const v1::AnalyzeOperationResponse& response) {
  if (!response.time().has_rows_at_ridge()) return "";
  return Wrap(
      "  ",
      absl::StrCat("Arithmetic takes longer from ", Grouped(response.time().rows_at_ridge()),
                   " rows on, the other sizes as they are."),
      2);
}

// "8.92 ms on h100-sxm, compute-bound, 99.80 % of peak".
std::string TimeSummary(const v1::OperationTime& time) {
  const v1::Roofline& forward = time.forward();
  return absl::StrCat(TimeText(forward.total_seconds()), " on ", DeviceOf(time), ", ",
                      BoundOf(forward), "-bound, ", Percent(forward.fraction_of_peak()),
                      " of peak");
}

// Both roofs, the ridge and the times: forward, unfused and backward side by side.
std::string TimeSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_time()) return "";
  return absl::StrCat("\n", Wrap("", absl::StrCat("On ", DeviceOf(response.time())), 2),
                      TimesTable(response.time()), RowsAtRidge(response));
}

// The achieved time as utilisation.
std::string UtilisationSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.time().has_utilisation()) return "";
  const v1::Utilisation& use = response.time().utilisation();
  const std::string figures =
      absl::StrCat(ShortFlops(use.flops()), " in ", TimeText(use.achieved_seconds()), " is ",
                   Scaled(use.flops_per_second(), "FLOP/s"), ", ", Percent(use.ratio()), " of ",
                   Scaled(use.peak_flops_per_second(), "FLOP/s"), " (MFU)");
  return absl::StrCat("\nAchieved\n", Wrap("  ", figures, 2), Wrap("  ", use.explanation(), 2));
}

void AddTimeRow(const char* label, const v1::KernelPrediction& prediction, Table& table) {
  const v1::Interval& duration = prediction.duration_seconds();
  table.AddRow(
      {label, TimeText(duration.expected()), text::EndsText(duration, TimeText),
       prediction.flops_per_second() > 0 ? Scaled(prediction.flops_per_second(), "FLOP/s") : "-",
       prediction.has_datasheet_mfu() ? Percent(prediction.datasheet_mfu()) : "-",
       KernelBasisText(prediction.basis())});
}

// "4096x6144x4096", "pass over 512.00 MiB".
std::string ShapeText(const v1::NearbyKernel& near) {
  if (near.has_memory_pass()) {
    const v1::MemoryPassExtent& pass = near.memory_pass();
    return absl::StrCat("pass over ", ShortBytes(pass.size_bytes()),
                        pass.flops() > 0 ? " with " : "",
                        pass.flops() > 0 ? ShortFlops(pass.flops()) : "");
  }
  const v1::MatmulExtent& matmul = near.matmul();
  return absl::StrCat(matmul.batch_count() > 1 ? absl::StrCat(matmul.batch_count(), " of ") : "",
                      matmul.m(), "x", matmul.n(), "x", matmul.k());
}

std::string NearestText(const v1::KernelPrediction& prediction) {
  std::vector<std::string> shapes;
  for (const v1::NearbyKernel& near : prediction.nearest()) {
    shapes.push_back(absl::StrCat(ShapeText(near), " ", TimeText(near.seconds())));
  }
  return absl::StrJoin(shapes, ", ");
}

std::string SourceWithAge(const v1::KernelPrediction& prediction, const SourceList& sources,
                          absl::Time now) {
  std::string source = SourceText(prediction.source(), sources, prediction.source_number());
  if (prediction.has_measured_time()) {
    absl::StrAppend(&source, ", ", AgeText(AgeSeconds(prediction.measured_time(), now)));
  }
  return source;
}

using Arrays = google::protobuf::RepeatedPtrField<v1::OperationArray>;

// "a [2, 3] bf16, b [3, 4] bf16".
std::string ArraysText(const Arrays& arrays) {
  return absl::StrJoin(arrays, ", ", [](std::string* out, const v1::OperationArray& array) {
    const std::string type = DataTypeName(array.data_type());
    absl::StrAppend(out, array.name(), " ", SizesText(array.shape()), type.empty() ? "" : " ",
                    type);
  });
}

std::string TypesText(const v1::OperationTypes& types) {
  if (types.input() == v1::DATA_TYPE_UNSPECIFIED) return "";  // a copy has no sums
  const bool scaled = types.scaling() != v1::MATMUL_SCALING_UNSPECIFIED;
  return absl::StrCat("; sums in ", DataTypeName(types.accumulation()),
                      scaled ? absl::StrCat("; scaled by ", EnumName(types.scaling())) : "");
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

// The operation, and its most important figures.
std::string Headline(const v1::AnalyzeOperationResponse& response, const std::string& sizes) {
  const std::string name = absl::StrReplaceAll(response.name(), {{"_", "-"}});
  const std::string arrays =
      response.operands().empty()
          ? ""
          : absl::StrCat(ArraysText(response.operands()), " -> ", ArraysText(response.outputs()),
                         TypesText(response.data_types()));
  std::string out =
      sizes.empty()
          ? Wrap("", arrays.empty() ? name : absl::StrCat(name, ": ", arrays), 2)
          : absl::StrCat(Wrap("", absl::StrCat(name, " ", sizes), 2), Line("  arrays    ", arrays));
  absl::StrAppend(&out, Line("  forward   ", SumText(response.forward().sum())),
                  response.has_host_copy()
                      ? Line("  time      ", HostCopySummary(response.host_copy()))
                      : Line("  backward  ", BackwardSummary(response)));
  if (!response.has_time()) return out;
  const std::string predicted = PredictionSummary(response.time());
  const char* const alone =
      predicted.empty() ? "; not predicted: a kernel takes longer than its roofline" : "";
  return absl::StrCat(out, Line("  time      ", predicted),
                      Line("  roofline  ", absl::StrCat(TimeSummary(response.time()), alone)),
                      Line("  advice    ", response.time().advice().text()));
}

std::string PairsSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_attended_pairs()) return "";
  return absl::StrCat("\nPairs of a query and a key, a head of a sequence\n",
                      Wrap("  ", Plain(response.attended_pairs()), 2));
}

std::string InitializationSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_initialization()) return "";
  const v1::LinearInitialization& start = response.initialization();
  Table table = Titled({"weights' deviation", ">outputs'", ""});
  table.AddRow({"1", Plain(start.output_deviation_of_unit_weights()), "sqrt(fan-in)"});
  table.AddRow({Plain(start.scaled_weight_deviation()),
                Plain(start.output_deviation_of_scaled_weights()), "1 / sqrt(fan-in)"});
  table.AddRow({"the same, truncated", Plain(start.output_deviation_of_truncated_weights()),
                "drawn again beyond 3 deviations"});
  return absl::StrCat("\nAt the start (inputs of mean 0, variance 1; fan-in ",
                      Grouped(start.fan_in()), "): standard deviations\n", table.Text());
}

}  // namespace

std::string PredictionSummary(const v1::OperationTime& time) {
  if (!time.has_predicted_forward()) return "";
  const v1::Interval& duration = time.predicted_forward().duration_seconds();
  return absl::StrCat(TimeText(duration.expected()), " predicted, ",
                      text::EndsText(duration, TimeText), " (80 %)");
}

std::string PredictionSection(const v1::OperationTime& time, absl::Time now) {
  if (!time.has_predicted_forward()) return "";
  const v1::KernelPrediction& forward = time.predicted_forward();
  Table table = Titled({"", ">time", ">80 % interval", ">rate", ">of peak", "from"});
  AddTimeRow("forward", forward, table);
  if (time.has_predicted_unfused()) AddTimeRow("unfused", time.predicted_unfused(), table);
  if (time.has_predicted_backward()) AddTimeRow("backward", time.predicted_backward(), table);
  const std::string source = SourceWithAge(forward, time.sources(), now);
  const std::string of_backward =
      time.has_predicted_backward() ? SourceWithAge(time.predicted_backward(), time.sources(), now)
                                    : source;
  const std::string error = PredictionErrorText(forward.error());
  const std::string nearest = NearestText(forward);
  return absl::StrCat(
      "\nPredicted from ",
      forward.source() == v1::RATE_SOURCE_DATASHEET ? "published rates" : "measured kernels",
      forward.regime() == v1::KERNEL_REGIME_SUSTAINED ? ", sustained\n" : "\n", table.Text(),
      Wrap("  source: ", source, 4),
      of_backward == source ? "" : Wrap("  source of backward: ", of_backward, 4),
      Wrap("  form: ",
           absl::StrCat(Words(EnumName(forward.form())), error.empty() ? "" : "; ", error), 4),
      nearest.empty() ? "" : Wrap("  nearest measured: ", nearest, 4));
}

std::string OperationText(const v1::AnalyzeOperationResponse& response,
                          const OperationTextOptions& options) {
  const v1::OperationTime& time = response.time();
  const absl::Time now = options.now;
  return absl::StrCat(Headline(response, options.sizes), ForwardSection(response),
                      PairsSection(response), EinsumSection(response), UnfusedSection(response),
                      BackwardSection(response), InitializationSection(response),
                      TimeSection(response), PredictionSection(time, now), options.plot,
                      UtilisationSection(response), RatesText(time.rates(), time.sources(), now),
                      RatesText(response.host_copy().rates(), response.host_copy().sources(), now),
                      NotesText("Warnings", time.warnings(), options.words),
                      NotesText("Assumptions", time.assumptions(), options.words),
                      EngineLine(response.engine_version(), response.time().rates_fingerprint()));
}

}  // namespace sextant::client
