#include "client/matmul_tables.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/table.h"
#include "client/time_cells.h"

namespace sextant {
namespace {

using Matmuls = std::vector<const v1::MatmulMeasurement*>;

Matmuls Chosen(const v1::Calibration& calibration, bool requested) {
  Matmuls chosen;
  for (const v1::MatmulMeasurement& matmul : calibration.matmuls()) {
    if (matmul.requested() == requested) chosen.push_back(&matmul);
  }
  return chosen;
}

// By data type, in the order in which the probe took them within each.
Matmuls ByType(Matmuls matmuls) {
  std::stable_sort(matmuls.begin(), matmuls.end(),
                   [](const auto* a, const auto* b) { return a->data_type() < b->data_type(); });
  return matmuls;
}

std::string RatioCell(bool present, double ratio) { return present ? Percent(ratio) : kNoValue; }

std::string TypeCell(v1::DataType type) {
  const std::string name = DataTypeName(type);
  return name.empty() ? kNoValue : name;
}

// Whether several kernels were tried of any of them.
bool WereSearched(const Matmuls& matmuls) {
  return std::any_of(matmuls.begin(), matmuls.end(),
                     [](const auto* matmul) { return matmul->has_best_flops_per_second(); });
}

std::string BestCell(const v1::MatmulMeasurement& matmul) {
  if (!matmul.has_best_flops_per_second()) return kNoValue;
  return Scaled(matmul.best_flops_per_second(), UnitOfWork(matmul.data_type()));
}

std::string MatmulTable(const Matmuls& matmuls) {
  const Align right = Align::kRight;
  const bool searched = WereSearched(matmuls);
  std::vector<Align> aligns = {Align::kLeft, Align::kLeft, right, right, right};
  std::vector<std::string> headings = {"type", "m x n x k", "rate", "registers", "MFU"};
  if (searched) {
    aligns.insert(aligns.begin() + 3, right);
    headings.insert(headings.begin() + 3, "best");
  }
  Table table(2, Joined(aligns, TimeAligns()));
  table.AddRow(Joined(headings, TimeHeadings()));
  for (const v1::MatmulMeasurement* matmul : matmuls) {
    std::vector<std::string> cells = {
        TypeCell(matmul->data_type()), ShapeText(*matmul),
        Scaled(matmul->flops_per_second(), UnitOfWork(matmul->data_type())),
        RatioCell(matmul->has_register_ratio(), matmul->register_ratio()),
        RatioCell(matmul->has_datasheet_mfu(), matmul->datasheet_mfu())};
    if (searched) cells.insert(cells.begin() + 3, BestCell(*matmul));
    table.AddRow(Joined(cells, TimeCells(matmul->has_time(), matmul->time())));
  }
  return table.Text();
}

std::string Legend(const Matmuls& matmuls) {
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

std::string Section(const std::string& title, const Matmuls& matmuls) {
  if (matmuls.empty()) return "";
  return absl::StrCat("\n", title, "\n", MatmulTable(matmuls), Legend(matmuls));
}

}  // namespace

std::string ShapeText(const v1::MatmulMeasurement& matmul) {
  if (matmul.m() == 0 && matmul.n() == 0 && matmul.k() == 0) return kNoValue;
  return absl::StrCat(matmul.m(), "x", matmul.n(), "x", matmul.k());
}

std::string RequestedMatmulSection(const v1::Calibration& calibration) {
  return Section("Shapes asked for (C[m,n] = A[m,k] B[k,n])",
                 Chosen(calibration, /*requested=*/true));
}

std::string MatmulSection(const v1::Calibration& calibration) {
  return Section("Matrix multiplication (C[m,n] = A[m,k] B[k,n])",
                 ByType(Chosen(calibration, /*requested=*/false)));
}

std::string SustainedMatmulSection(const v1::Calibration& calibration) {
  Matmuls sustained;
  for (const v1::MatmulMeasurement& matmul : calibration.sustained_matmuls()) {
    sustained.push_back(&matmul);
  }
  return Section("Sustained matrix multiplication (without a pause)", sustained);
}

std::string KernelSection(const v1::Calibration& calibration) {
  std::map<std::tuple<v1::DataType, std::string, std::string>, int64_t> shape_counts;
  for (const v1::MatmulMeasurement& matmul : calibration.matmuls()) {
    ++shape_counts[{matmul.data_type(), matmul.engine(), matmul.kernel()}];
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
  Table table(2, Joined(Joined({Align::kLeft, Align::kRight}, TimeAligns()), {Align::kLeft}));
  table.AddRow(Joined(Joined({"type", "rate"}, TimeHeadings()), {"instruction"}));
  for (const v1::RegisterMeasurement& measured : calibration.registers()) {
    table.AddRow(
        Joined(Joined({TypeCell(measured.data_type()),
                       Scaled(measured.flops_per_second(), UnitOfWork(measured.data_type()))},
                      TimeCells(measured.has_time(), measured.time())),
               {measured.instruction()}));
  }
  return absl::StrCat("\nRegisters (multiply-adds that touch no memory)\n", table.Text());
}

}  // namespace sextant
