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

using LayerPoints = std::vector<GroupedMatmulPoint>;

// A calibration's points, and the rows that it is scored by.
struct LayerSplit {
  LayerPoints calibration;
  LayerPoints scored;
};
using LayerSplitting = std::vector<LayerSplit>(const LayerPoints& points);

std::vector<LayerSplit> PickAndRest(const LayerPoints& points) {
  LayerSplit out = {.calibration = GroupedMatmulPick(points), .scored = {}};
  for (const GroupedMatmulPoint& point : points) {
    const bool used =
        std::any_of(out.calibration.begin(), out.calibration.end(),
                    [&](const GroupedMatmulPoint& picked) { return picked.shape == point.shape; });
    if (!used) out.scored.push_back(point);
  }
  return {out};
}

// A shape that was measured twice goes to one half as its first row.
std::vector<LayerSplit> EitherHalf(const LayerPoints& points) {
  LayerPoints shapes;
  for (const GroupedMatmulPoint& point : points) {
    if (shapes.empty() || !(shapes.back().shape == point.shape)) shapes.push_back(point);
  }
  LayerSplit out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    (i % 2 == 0 ? out.calibration : out.scored).push_back(shapes[i]);
  }
  return {out, {.calibration = out.scored, .scored = out.calibration}};
}

absl::Status ScoreLayers(const KernelKey& key, const LayerPoints& points, LayerSplitting* splits_of,
                         KernelScores& out) {
  const auto& [gpu, data_type, kernel] = key;
  SEXTANT_ASSIGN_OR_RETURN(const DataType type, TableDataType(data_type));
  const std::vector<LayerSplit> splits = splits_of(points);
  if (static_cast<int64_t>(splits[0].calibration.size()) < GroupedMatmulModel::kMinPoints) {
    out.left_out.push_back(
        absl::StrCat(gpu, " ", data_type, " ", kernel, ": ", points.size(), " rows, too few"));
    return absl::OkStatus();
  }
  std::vector<ScoredWork> seen;
  for (const GroupedMatmulPoint& point : splits[0].calibration) {
    seen.push_back(WorkOf(point, BytesPerWeight(type)));
  }
  Scoring scoring(DatasheetRoofline(gpu, type), RooflineSeen(seen));
  for (const LayerSplit& split : splits) {
    SEXTANT_ASSIGN_OR_RETURN(const GroupedMatmulModel model,
                             GroupedMatmulModel::Of({.points = split.calibration}));
    for (const GroupedMatmulPoint& point : split.scored) {
      scoring.Add(WorkOf(point, BytesPerWeight(type)), model.Predict(point.shape));
    }
  }
  KernelScore score{.gpu = gpu, .data_type = data_type, .kernel = kernel, .domain = "all"};
  score.point_count = static_cast<int64_t>(splits[0].calibration.size());
  scoring.FillIn(score);
  out.scores.push_back(score);
  return absl::OkStatus();
}

absl::StatusOr<KernelScores> LayerScoresOf(const std::vector<CsvRow>& rows,
                                           LayerSplitting* splits_of) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, GroupedMatmulTable(rows));
  KernelScores out;
  for (const auto& [key, points] : table) {
    SEXTANT_RETURN_IF_ERROR(ScoreLayers(key, points, splits_of, out));
  }
  return out;
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
  return LayerScoresOf(rows, PickAndRest);
}

absl::StatusOr<KernelScores> GroupedMatmulHalves(const std::vector<CsvRow>& rows) {
  return LayerScoresOf(rows, EitherHalf);
}

}  // namespace sextant
