#include "proto/text/matmul_sections.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/matmul_kind.h"
#include "proto/text/enum_names.h"
#include "proto/text/format.h"
#include "proto/text/table.h"
#include "proto/text/timed_table.h"

namespace sextant::text {
namespace {

// Sorted by data type; within a type in the probe's order.
MatmulList ByType(MatmulList matmuls) {
  std::stable_sort(matmuls.begin(), matmuls.end(),
                   [](const auto* a, const auto* b) { return a->data_type() < b->data_type(); });
  return matmuls;
}

std::string RatioCell(bool present, double ratio) { return present ? Percent(ratio) : kNoValue; }

std::string TypeCell(v1::DataType type) {
  const std::string name = DataTypeName(type);
  return name.empty() ? kNoValue : name;
}

std::string RateCell(const v1::MatmulMeasurement& matmul) {
  return Scaled(matmul.flops_per_second(), UnitOfWork(matmul.data_type()));
}

std::string BestCell(const v1::MatmulMeasurement& matmul) {
  if (!matmul.has_best_flops_per_second()) return kNoValue;
  return Scaled(matmul.best_flops_per_second(), UnitOfWork(matmul.data_type()));
}

// True where several kernels were tried for any of them.
bool WereSearched(const MatmulList& matmuls) {
  return std::any_of(matmuls.begin(), matmuls.end(),
                     [](const auto* matmul) { return matmul->has_best_flops_per_second(); });
}

std::string MatmulTable(const MatmulList& matmuls) {
  constexpr int kBestColumn = 3;
  const bool searched = WereSearched(matmuls);
  std::vector<std::string> headings = {"type", "m x n x k", ">rate", ">registers", ">MFU"};
  if (searched) headings.insert(headings.begin() + kBestColumn, ">best");
  TimedTable table(std::move(headings));
  for (const v1::MatmulMeasurement* matmul : matmuls) {
    std::vector<std::string> cells = {
        TypeCell(matmul->data_type()), ShapeText(*matmul), RateCell(*matmul),
        RatioCell(matmul->has_register_ratio(), matmul->register_ratio()),
        RatioCell(matmul->has_datasheet_mfu(), matmul->datasheet_mfu())};
    if (searched) cells.insert(cells.begin() + kBestColumn, BestCell(*matmul));
    table.AddRow(std::move(cells), *matmul);
  }
  return table.Text();
}

std::string Legend(const MatmulList& matmuls) {
  const bool known = std::any_of(matmuls.begin(), matmuls.end(),
                                 [](const auto* matmul) { return matmul->has_datasheet_mfu(); });
  return Wrap("  ",
              absl::StrCat(WereSearched(matmuls)
                               ? "rate: of the library's own choice; best: of all kernels that "
                                 "were tried; "
                               : "",
                           "registers: share of what the type's registers do; MFU: ",
                           known ? "share of the datasheet's dense peak"
                                 : "no datasheet peak known for this device"),
              2);
}

// The most shapes of a type that are all shown; of a larger grid only those with equal n and k.
constexpr int kMaxShapesOfAType = 40;

std::string Section(absl::string_view title, const MatmulList& matmuls,
                    absl::string_view json_flag) {
  if (matmuls.empty()) return "";
  std::map<v1::DataType, int> counts;
  for (const auto* matmul : matmuls) ++counts[matmul->data_type()];
  MatmulList shown;
  std::map<v1::DataType, int> unshown_counts;
  for (const auto* matmul : matmuls) {
    if (counts[matmul->data_type()] <= kMaxShapesOfAType || matmul->n() == matmul->k()) {
      shown.push_back(matmul);
    } else {
      ++unshown_counts[matmul->data_type()];
    }
  }
  std::string unshown;
  for (const auto& [type, count] : unshown_counts) {
    absl::StrAppend(&unshown, "  ", TypeCell(type), ": ", count, " more shapes; ", json_flag,
                    " has them\n");
  }
  return absl::StrCat("\n", title, "\n", MatmulTable(shown), unshown, Legend(matmuls));
}

std::string LayoutText(v1::MatmulMeasurement::Layout layout) {
  const std::string name = EnumName(layout);
  return name.empty() ? "row-by-column" : name;
}

std::string SumsText(const v1::MatmulMeasurement& matmul) {
  if (!matmul.has_fast_accumulation()) return kNoValue;
  return matmul.fast_accumulation() ? "fast" : "fp32";
}

}  // namespace

std::string ShapeText(const v1::MatmulMeasurement& matmul) {
  if (matmul.m() == 0 && matmul.n() == 0 && matmul.k() == 0) return kNoValue;
  return absl::StrCat(matmul.m(), "x", matmul.n(), "x", matmul.k());
}

std::string RequestedMatmulSection(const v1::Calibration& calibration,
                                   absl::string_view json_flag) {
  return Section("Shapes asked for (C[m,n] = A[m,k] B[k,n])",
                 MatmulsWhere(calibration, IsRequested), json_flag);
}

std::string MatmulSection(const v1::Calibration& calibration, absl::string_view json_flag) {
  return Section("Matrix multiplication (C[m,n] = A[m,k] B[k,n])",
                 ByType(MatmulsWhere(calibration, IsGridBurst)), json_flag);
}

std::string SustainedMatmulSection(const v1::Calibration& calibration,
                                   absl::string_view json_flag) {
  return Section("Sustained matrix multiplication (without a pause)",
                 MatmulsWhere(calibration, IsSustained), json_flag);
}

std::string SustainedConditionsSection(const v1::Calibration& calibration) {
  Table table(2, {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"type", "clock", "counted clock", "power", "of the limit"});
  bool any = false;
  const auto cell = [&any](bool present, const std::string& text) {
    any |= present;
    return present ? text : std::string(kNoValue);
  };
  for (const v1::MatmulMeasurement* m : MatmulsWhere(calibration, IsSustained)) {
    table.AddRow(
        {TypeCell(m->data_type()),
         cell(m->has_sm_clock_hertz(), absl::StrFormat("%.4g MHz", m->sm_clock_hertz() / 1e6)),
         cell(m->has_counted_sm_clock_hertz(),
              absl::StrFormat("%.4g MHz", m->counted_sm_clock_hertz() / 1e6)),
         cell(m->has_power_watts(), absl::StrFormat("%.4g W", m->power_watts())),
         cell(m->has_clock_limit_ratio(), Percent(m->clock_limit_ratio()))});
  }
  if (!any) return "";
  return absl::StrCat("\nDuring sustained matrix multiplication\n", table.Text(),
                      Wrap("  ",
                           "counted clock: by a multiprocessor's own cycles; of the limit: the "
                           "rate over what the matrix units can do at that clock",
                           2));
}

std::string OtherMatmulSection(const v1::Calibration& calibration) {
  const MatmulList others = MatmulsWhere(calibration, IsOther);
  if (others.empty()) return "";
  TimedTable table({"type", "m x n x k", ">batch", "layout", "sums", ">rate"});
  for (const v1::MatmulMeasurement* m : others) {
    table.AddRow(
        {TypeCell(m->data_type()), ShapeText(*m), Grouped(std::max(m->batch_count(), int64_t{1})),
         LayoutText(m->layout()), SumsText(*m), RateCell(*m)},
        *m);
  }
  return absl::StrCat("\nOther matrix multiplications (plans pass over them)\n", table.Text(),
                      Wrap("  ",
                           "layout: how A and B lie, row-by-column is a linear layer's forward "
                           "pass; sums: fast ones of 8-bit floats have fewer bits than fp32",
                           2));
}

std::string KernelSection(const v1::Calibration& calibration) {
  std::map<std::tuple<v1::DataType, std::string, std::string>, int64_t> shape_counts;
  for (const v1::MatmulMeasurement* matmul : MatmulsWhere(calibration, IsShapeBurst)) {
    ++shape_counts[{matmul->data_type(), matmul->engine(), matmul->kernel()}];
  }
  if (shape_counts.empty()) return "";
  Table table(2, {Align::kLeft, Align::kRight, Align::kLeft});
  table.AddRow({"type", "shapes", "kernel"});
  for (const auto& [key, count] : shape_counts) {
    const auto& [type, engine, kernel] = key;
    table.AddRow({TypeCell(type), Grouped(count),
                  kernel.empty() ? engine : absl::StrCat(engine, ", ", kernel)});
  }
  return absl::StrCat("\nKernels of matrix multiplication\n", table.Text());
}

std::string RegisterSection(const v1::Calibration& calibration) {
  if (calibration.registers().empty()) return "";
  TimedTable table({"type", ">rate"}, {"instruction"});
  for (const v1::RegisterMeasurement& m : calibration.registers()) {
    table.AddRow({TypeCell(m.data_type()), Scaled(m.flops_per_second(), UnitOfWork(m.data_type())),
                  m.instruction()},
                 m);
  }
  return absl::StrCat("\nRegisters (multiply-adds that touch no memory)\n", table.Text());
}

}  // namespace sextant::text
