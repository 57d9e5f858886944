#include "tests/validation/attention_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "tests/validation/kernel_score.h"
#include "tests/validation/spread_points.h"

namespace sextant {
namespace {

constexpr double kMaxFlops = 6e12;
constexpr TermPosition kCentre = {12, 3, 1};

auto ClassKey(const AttentionShape& s) {
  return std::make_tuple(s.query_key_head_size, s.value_head_size, s.causal, s.window);
}

auto ShapeKey(const AttentionShape& s) {
  return std::make_tuple(s.batch, s.sequence, s.heads, s.key_value_heads);
}

absl::StatusOr<AttentionPoint> PointOf(const CsvRow& row) {
  AttentionShape shape;
  SEXTANT_ASSIGN_OR_RETURN(shape.batch, IntegerOf(row, "batch"));
  SEXTANT_ASSIGN_OR_RETURN(shape.sequence, IntegerOf(row, "seq_len"));
  SEXTANT_ASSIGN_OR_RETURN(shape.heads, IntegerOf(row, "heads"));
  if (row.count("head_dim") == 0) {
    shape.key_value_heads = shape.heads;
    shape.query_key_head_size = 192;
    shape.value_head_size = 128;
  } else {
    SEXTANT_ASSIGN_OR_RETURN(shape.key_value_heads, IntegerOf(row, "kv_heads"));
    SEXTANT_ASSIGN_OR_RETURN(shape.query_key_head_size, IntegerOf(row, "head_dim"));
    shape.value_head_size = shape.query_key_head_size;
    SEXTANT_ASSIGN_OR_RETURN(const int64_t causal, IntegerOf(row, "causal"));
    shape.causal = causal != 0;
    SEXTANT_ASSIGN_OR_RETURN(shape.window, IntegerOf(row, "window"));
  }
  SEXTANT_ASSIGN_OR_RETURN(const double seconds, NumberOf(row, "seconds"));
  return AttentionPoint{.shape = shape, .time = Seconds(seconds)};
}

std::string TextOf(const CsvRow& row, const std::string& column) {
  const auto found = row.find(column);
  return found == row.end() ? "" : found->second;
}

size_t PickCount(const AttentionShape& like, size_t rows) {
  const bool latent = like.query_key_head_size != like.value_head_size;
  const size_t wanted = latent ? 40 : like.window > 0 ? 16 : 30;
  return std::min(wanted, rows / 2);
}

}  // namespace

absl::StatusOr<std::map<KernelKey, std::vector<AttentionPoint>>> AttentionTable(
    const std::vector<CsvRow>& rows) {
  std::map<KernelKey, std::vector<AttentionPoint>> out;
  for (const CsvRow& row : rows) {
    SEXTANT_ASSIGN_OR_RETURN(const AttentionPoint point, PointOf(row));
    const std::string kernel = TextOf(row, "kernel");
    out[{TextOf(row, "gpu"), TextOf(row, "dtype"),
         absl::StrCat(TextOf(row, "framework"), " ", TextOf(row, "framework_version"),
                      kernel.empty() ? "" : " ", kernel)}]
        .push_back(point);
  }
  for (auto& [key, points] : out) {
    std::sort(points.begin(), points.end(), [](const AttentionPoint& a, const AttentionPoint& b) {
      return std::make_tuple(ClassKey(a.shape), ShapeKey(a.shape)) <
             std::make_tuple(ClassKey(b.shape), ShapeKey(b.shape));
    });
  }
  return out;
}

std::vector<std::vector<AttentionPoint>> AttentionClasses(
    const std::vector<AttentionPoint>& points) {
  std::vector<std::vector<AttentionPoint>> out;
  for (const AttentionPoint& point : points) {
    if (out.empty() || ClassKey(out.back()[0].shape) != ClassKey(point.shape)) out.emplace_back();
    out.back().push_back(point);
  }
  return out;
}

std::vector<AttentionPoint> AttentionPick(const std::vector<AttentionPoint>& points) {
  std::vector<AttentionPoint> small;
  std::vector<TermPosition> positions;
  for (const AttentionPoint& point : points) {
    if (AttentionFlops(point.shape) > kMaxFlops) continue;
    small.push_back(point);
    positions.push_back(AttentionPosition(point.shape));
  }
  std::vector<AttentionPoint> out;
  for (const size_t i :
       SpreadPoints(positions, kCentre, PickCount(points[0].shape, points.size()))) {
    out.push_back(small[i]);
  }
  return out;
}

}  // namespace sextant
