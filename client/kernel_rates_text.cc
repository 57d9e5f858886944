#include "client/kernel_rates_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/amounts.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/kernel_chart.h"
#include "client/kernel_chart_plot.h"
#include "client/rates_text.h"
#include "client/table.h"

namespace sextant {
namespace {

std::string CurveTable(const v1::KernelCurve& curve) {
  Table table(2, {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                  Align::kRight, Align::kLeft});
  table.AddRow({"size", "time", "low", "high", "rate", "of peak", "from"});
  for (const v1::KernelCurvePoint& point : curve.points()) {
    table.AddRow({Grouped(point.size()), TimeText(point.expected_seconds()),
                  TimeText(point.low_seconds()), TimeText(point.high_seconds()),
                  Scaled(point.flops_per_second(), "FLOP/s"),
                  point.has_datasheet_mfu() ? Percent(point.datasheet_mfu()) : "-",
                  KernelBasisText(point.basis())});
  }
  return table.Text();
}

std::string CurveSection(const v1::KernelCurve& curve) {
  const std::string error = PredictionErrorText(curve.error());
  const std::string source = EnumName(*v1::RateSource_descriptor(), curve.source());
  return absl::StrCat(
      "\n",
      Wrap("",
           absl::StrCat(KernelKindName(curve.kind()), ", ",
                        EnumName(*v1::DataType_descriptor(), curve.data_type()), ": ",
                        KernelSizeName(curve.kind())),
           2),
      CurveTable(curve), Wrap("  source: ", absl::StrCat(source, ", ", curve.citation()), 4),
      Wrap("  form: ", absl::StrCat(Words(curve.form()), error.empty() ? "" : "; ", error), 4));
}

}  // namespace

std::string PredictionErrorText(const v1::PredictionError& error) {
  if (error.shape_count() == 0) return "";
  return absl::StrFormat(
      "%s measured shapes, each unseen: %s off in the median, %s at the 90th percentile",
      Grouped(error.shape_count()), Percent(error.median_absolute_error_ratio()),
      Percent(error.p90_absolute_error_ratio()));
}

std::string KernelBasisText(v1::KernelBasis basis) {
  switch (basis) {
    case v1::KERNEL_BASIS_MEASURED:
      return "this shape, measured";
    case v1::KERNEL_BASIS_WITHIN_GRID:
      return "measured shapes around it";
    case v1::KERNEL_BASIS_OUTSIDE_GRID:
      return "beyond measured shapes";
    case v1::KERNEL_BASIS_OTHER_PASS:
      return "the forward pass";
    case v1::KERNEL_BASIS_OTHER_TYPE:
      return "another data type";
    case v1::KERNEL_BASIS_MEASURED_RATE:
      return "best measured rates";
    case v1::KERNEL_BASIS_DATASHEET:
      return "datasheet, published share";
    default:
      return Words(EnumName(*v1::KernelBasis_descriptor(), basis));
  }
}

std::string KernelRatesText(const v1::GetKernelRatesResponse& response) {
  std::string out = Wrap("", absl::StrCat("Kernels of ", response.device()), 2);
  for (const KernelChart& chart : KernelChartsOf(response)) out += KernelChartPlot(chart);
  for (const v1::KernelCurve& curve : response.curves()) out += CurveSection(curve);
  return absl::StrCat(out, AssumptionsText(response.assumptions()));
}

}  // namespace sextant
