#include "tests/validation/grouped_matmul_accuracy.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "tests/validation/spread_points.h"

namespace sextant {
namespace {

constexpr size_t kPickCount = 60;
constexpr TermPosition kCentre = {4, 2, 11.5};

auto ShapeKey(const GroupedMatmulShape& s) {
  return std::make_tuple(s.tokens, s.hidden, s.intermediate, s.experts_per_token, s.experts,
                         s.expert_parallel, s.gated);
}

absl::StatusOr<GroupedMatmulPoint> PointOf(const CsvRow& row) {
  GroupedMatmulShape shape;
  SEXTANT_ASSIGN_OR_RETURN(shape.tokens, IntegerOf(row, "tokens"));
  SEXTANT_ASSIGN_OR_RETURN(shape.hidden, IntegerOf(row, "hidden"));
  SEXTANT_ASSIGN_OR_RETURN(shape.intermediate, IntegerOf(row, "intermediate"));
  SEXTANT_ASSIGN_OR_RETURN(shape.experts_per_token, IntegerOf(row, "top_k"));
  SEXTANT_ASSIGN_OR_RETURN(shape.experts, IntegerOf(row, "experts"));
  SEXTANT_ASSIGN_OR_RETURN(shape.expert_parallel, IntegerOf(row, "expert_parallel"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t gated, IntegerOf(row, "gated"));
  shape.gated = gated != 0;
  SEXTANT_ASSIGN_OR_RETURN(const double seconds, NumberOf(row, "seconds"));
  return GroupedMatmulPoint{.shape = shape, .time = Seconds(seconds)};
}

double BytesPerWeight(DataType type) {
  if (type == DataType::kNvfp4) return 0.5625;  // 4 bits, and 8 of a scale for 16
  return type == DataType::kBf16 ? 2 : 1;
}

// The least that memory carries: weights, and every row's input and output in bf16.
ScoredWork WorkOf(const GroupedMatmulPoint& point, double weight_bytes) {
  const double tokens = 4 * ExpertRows(point.shape) * static_cast<double>(point.shape.hidden);
  return {.flops = GroupedMatmulFlops(point.shape),
          .bytes = ActiveWeights(point.shape) * weight_bytes + tokens,
          .seconds = point.time.value()};
}

absl::Status Score(const KernelKey& key, const std::vector<GroupedMatmulPoint>& points,
                   KernelScores& out) {
  const auto& [gpu, data_type, kernel] = key;
  SEXTANT_ASSIGN_OR_RETURN(const DataType type, TableDataType(data_type));
  const std::vector<GroupedMatmulPoint> picked = GroupedMatmulPick(points);
  if (static_cast<int64_t>(picked.size()) < GroupedMatmulModel::kMinPoints) {
    out.left_out.push_back(
        absl::StrCat(gpu, " ", data_type, " ", kernel, ": ", points.size(), " rows, too few"));
    return absl::OkStatus();
  }
  SEXTANT_ASSIGN_OR_RETURN(const GroupedMatmulModel model,
                           GroupedMatmulModel::Of({.points = picked}));
  std::vector<ScoredWork> seen;
  for (const GroupedMatmulPoint& point : picked)
    seen.push_back(WorkOf(point, BytesPerWeight(type)));
  Scoring scoring(DatasheetRoofline(gpu, type), RooflineSeen(seen));
  for (const GroupedMatmulPoint& point : points) {
    const bool used = std::any_of(picked.begin(), picked.end(), [&](const GroupedMatmulPoint& p) {
      return p.shape == point.shape;
    });
    if (!used) scoring.Add(WorkOf(point, BytesPerWeight(type)), model.Predict(point.shape));
  }
  KernelScore score{.gpu = gpu, .data_type = data_type, .kernel = kernel, .domain = "all"};
  score.point_count = static_cast<int64_t>(picked.size());
  scoring.FillIn(score);
  out.scores.push_back(score);
  return absl::OkStatus();
}

std::string TextOf(const CsvRow& row, const std::string& column) {
  const auto found = row.find(column);
  return found == row.end() ? "" : found->second;
}

}  // namespace

absl::StatusOr<std::map<KernelKey, std::vector<GroupedMatmulPoint>>> GroupedMatmulTable(
    const std::vector<CsvRow>& rows) {
  std::map<KernelKey, std::vector<GroupedMatmulPoint>> out;
  for (const CsvRow& row : rows) {
    SEXTANT_ASSIGN_OR_RETURN(const GroupedMatmulPoint point, PointOf(row));
    out[{TextOf(row, "gpu"), TextOf(row, "dtype"),
         absl::StrCat(TextOf(row, "framework"), " ", TextOf(row, "framework_version"), " ",
                      TextOf(row, "kernel"), point.shape.gated ? "" : ", not gated")}]
        .push_back(point);
  }
  for (auto& [key, points] : out) {
    std::sort(points.begin(), points.end(),
              [](const GroupedMatmulPoint& a, const GroupedMatmulPoint& b) {
                return ShapeKey(a.shape) < ShapeKey(b.shape);
              });
  }
  return out;
}

std::vector<GroupedMatmulPoint> GroupedMatmulPick(const std::vector<GroupedMatmulPoint>& points) {
  std::vector<TermPosition> positions;
  for (const GroupedMatmulPoint& point : points) {
    positions.push_back(GroupedMatmulTerms(point.shape, {}).position);
  }
  std::vector<GroupedMatmulPoint> out;
  for (const size_t i : SpreadPoints(positions, kCentre, std::min(kPickCount, points.size() / 2))) {
    out.push_back(points[i]);
  }
  return out;
}

absl::StatusOr<KernelScores> GroupedMatmulScores(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, GroupedMatmulTable(rows));
  KernelScores out;
  for (const auto& [key, points] : table) SEXTANT_RETURN_IF_ERROR(Score(key, points, out));
  return out;
}

}  // namespace sextant
