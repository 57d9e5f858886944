#include "proto/text/calibration_sections.h"

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

std::string WordOr(const std::string& name) { return name.empty() ? kNoValue : name; }

std::string SizeText(int64_t bytes) { return WithUnit(static_cast<double>(bytes), "byte"); }

std::string Titled(absl::string_view title, const TimedTable& table, absl::string_view legend) {
  return absl::StrCat("\n", title, "\n", table.Text(), legend.empty() ? "" : Wrap("  ", legend, 2));
}

// The limit of a step of the ladder, memory or arithmetic, where the ridge is known.
std::string BoundCell(const v1::Calibration& calibration,
                      const v1::ElementwiseMeasurement& measured) {
  if (!calibration.has_ridge_flops_per_byte()) return kNoValue;
  return measured.flops_per_byte() < calibration.ridge_flops_per_byte() ? "memory" : "arithmetic";
}

// "32/8": heads of queries, and of keys and values where there are fewer.
std::string PairText(int64_t first, int64_t second) {
  return first == second ? absl::StrCat(first) : absl::StrCat(first, "/", second);
}

std::string MaskText(const v1::AttentionMeasurement& attention) {
  const std::string mask = attention.causal() ? "causal" : "none";
  return attention.window() > 0 ? absl::StrCat(mask, " ", attention.window()) : mask;
}

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

std::string StreamSection(const v1::Calibration& calibration) {
  if (calibration.streams().empty()) return "";
  TimedTable table({"pass", "in", ">array", ">rate"});
  for (const v1::StreamMeasurement& m : calibration.streams()) {
    table.AddRow({EnumName(m.operation()), m.main_memory() ? "memory" : "cache",
                  SizeText(m.array_bytes()), Scaled(m.bytes_per_second(), "B/s")},
                 m);
  }
  return Titled("Memory (bytes read plus bytes written)", table, "");
}

std::string ElementwiseSection(const v1::Calibration& calibration) {
  if (calibration.elementwise().empty()) return "";
  TimedTable table({">multiply-adds", ">FLOP/byte", ">rate", ">bandwidth", "bound by"});
  for (const v1::ElementwiseMeasurement& m : calibration.elementwise()) {
    table.AddRow({Grouped(m.multiply_add_count()), Plain(m.flops_per_byte()),
                  Scaled(m.flops_per_second(), "FLOP/s"), Scaled(m.bytes_per_second(), "B/s"),
                  BoundCell(calibration, m)},
                 m);
  }
  const std::string ridge =
      calibration.has_ridge_flops_per_byte()
          ? absl::StrFormat("ridge: %.2f FLOP a byte; below it memory binds, above it arithmetic",
                            calibration.ridge_flops_per_byte())
          : "";
  return Titled("Elementwise (multiply-adds an fp32 element, in place)", table, ridge);
}

std::string FusionSection(const v1::Calibration& calibration) {
  if (!calibration.has_fusion()) return "";
  const v1::FusionMeasurement& fusion = calibration.fusion();
  TimedTable table({"chain"});
  table.AddRow({"one pass an operation"}, fusion.has_unfused_time(), fusion.unfused_time());
  table.AddRow({"one pass for all"}, fusion.has_fused_time(), fusion.fused_time());
  return Titled(
      "Fusion", table,
      absl::StrFormat("%d operations over %s, fused: %.2f times as fast", fusion.operation_count(),
                      SizeText(fusion.array_bytes()), fusion.speedup_ratio()));
}

std::string AttentionSection(const v1::Calibration& calibration) {
  if (calibration.attentions().empty()) return "";
  TimedTable table({"type", "pass", "batch x tokens", "heads", "size", "mask", ">rate"});
  for (const v1::AttentionMeasurement& m : calibration.attentions()) {
    table.AddRow({WordOr(EnumName(m.data_type())), WordOr(EnumName(m.training_pass())),
                  absl::StrCat(m.batch(), " x ", m.sequence_length()),
                  PairText(m.heads(), m.kv_heads()), PairText(m.head_size(), m.value_head_size()),
                  MaskText(m), Scaled(m.flops_per_second(), "FLOP/s")},
                 m);
  }
  return Titled("Attention (one kernel)", table,
                "heads: of queries/of keys and values; size: of a query's head/of a value's; mask: "
                "with its window, in tokens");
}

std::string ExpertsSection(const v1::Calibration& calibration) {
  if (calibration.experts().empty()) return "";
  TimedTable table({"type", ">tokens", "h x f", "experts", ">devices", ">rate"});
  for (const v1::ExpertsMeasurement& m : calibration.experts()) {
    table.AddRow(
        {WordOr(EnumName(m.data_type())), Grouped(m.tokens()),
         absl::StrCat(m.hidden_size(), " x ", m.feed_forward_size(), m.gated() ? " gated" : ""),
         absl::StrCat(m.experts_per_token(), " of ", m.expert_count()),
         Grouped(m.expert_parallel_size()), Scaled(m.flops_per_second(), "FLOP/s")},
        m);
  }
  return Titled("Layers of experts (the products on one device)", table,
                "tokens: of all devices that share the experts; h x f: widths of a token and of an "
                "expert");
}

std::string CollectiveSection(const v1::Calibration& calibration) {
  if (calibration.collectives().empty()) return "";
  TimedTable table({"collective", ">devices", ">size", ">bus rate"});
  for (const v1::CollectiveMeasurement& m : calibration.collectives()) {
    table.AddRow({WordOr(EnumName(m.operation())), Grouped(m.rank_count()),
                  SizeText(m.size_bytes()), Scaled(m.bus_bytes_per_second(), "B/s")},
                 m);
  }
  return Titled("Collectives (devices of one host)", table,
                "bus rate: nccl-tests' busbw, to compare with the link's");
}

std::string HostCopySection(const v1::Calibration& calibration) {
  if (calibration.host_copies().empty()) return "";
  TimedTable table({"copy", "host memory", ">size", ">rate"});
  for (const v1::HostCopyMeasurement& m : calibration.host_copies()) {
    table.AddRow({WordOr(EnumName(m.direction())), m.pageable() ? "pageable" : "pinned",
                  SizeText(m.size_bytes()), Scaled(m.bytes_per_second(), "B/s")},
                 m);
  }
  return Titled("Copies to and from the host", table, "");
}

std::string LaunchSection(const v1::Calibration& calibration) {
  if (calibration.launches().empty()) return "";
  TimedTable table({"started by"});
  for (const v1::LaunchMeasurement& m : calibration.launches()) {
    table.AddRow({WordOr(EnumName(m.kind()))}, m);
  }
  return Titled("Kernels that do nothing (stream: a call each; graph: recorded once)", table, "");
}

}  // namespace sextant::text
