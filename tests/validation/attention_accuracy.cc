#include "tests/validation/attention_accuracy.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/attention_model.h"
#include "tests/validation/attention_rows.h"

namespace sextant {
namespace {

struct Domain {
  const char* name;
  int64_t least;
  int64_t most;
};

constexpr Domain kDomains[] = {{"sequence 2048 to 16384", 2048, 16384},
                               {"all", 0, int64_t{1} << 40}};

// The least that memory carries: queries, keys and values in `type`, outputs in bf16 are left out.
ScoredWork WorkOf(const AttentionPoint& point, double element_bytes) {
  return {.flops = AttentionFlops(point.shape),
          .bytes = AttentionElements(point.shape) * element_bytes,
          .seconds = point.time.value()};
}

struct Split {
  std::vector<AttentionPoint> calibration;
  std::vector<AttentionPoint> scored;
};

using Picking = std::vector<AttentionPoint>(const std::vector<AttentionPoint>& like);

std::vector<AttentionPoint> EverySecond(const std::vector<AttentionPoint>& like) {
  std::vector<AttentionPoint> out;
  for (size_t i = 0; i < like.size(); i += 2) out.push_back(like[i]);
  return out;
}

struct Table {
  KernelKey key;
  std::vector<AttentionPoint> points;
};

Split SplitOf(const std::string& name, const std::vector<AttentionPoint>& points, Picking* pick,
              std::vector<std::string>& left_out) {
  Split out;
  for (const std::vector<AttentionPoint>& like : AttentionClasses(points)) {
    const std::vector<AttentionPoint> picked = pick(like);
    if (static_cast<int64_t>(picked.size()) < AttentionModel::kMinPoints) {
      left_out.push_back(absl::StrCat(name, ", head size ", like[0].shape.query_key_head_size, ": ",
                                      like.size(), " rows, too few"));
      continue;
    }
    for (const AttentionPoint& point : like) {
      const bool used = std::any_of(picked.begin(), picked.end(), [&](const AttentionPoint& p) {
        return p.shape == point.shape;
      });
      if (!used) out.scored.push_back(point);
    }
    out.calibration.insert(out.calibration.end(), picked.begin(), picked.end());
  }
  return out;
}

absl::Status Score(const Table& table, Picking* pick, absl::Span<const Domain> domains,
                   KernelScores& out) {
  const auto& [gpu, data_type, kernel] = table.key;
  const std::string name = absl::StrCat(gpu, " ", data_type, " ", kernel);
  const Accelerator* accelerator = AcceleratorNamed(gpu);
  if (accelerator == nullptr || !accelerator->compute_unit_count) {
    out.left_out.push_back(absl::StrCat(name, ": multiprocessors of this device are not known"));
    return absl::OkStatus();
  }
  SEXTANT_ASSIGN_OR_RETURN(const DataType type, TableDataType(data_type));
  const Split split = SplitOf(name, table.points, pick, out.left_out);
  if (split.calibration.empty()) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(const AttentionModel model,
                           AttentionModel::Of({.compute_units = static_cast<int64_t>(
                                                   accelerator->compute_unit_count.value),
                                               .points = split.calibration}));
  const double element_bytes = type == DataType::kBf16 ? 2 : 1;
  std::vector<ScoredWork> seen;
  for (const AttentionPoint& point : split.calibration) {
    seen.push_back(WorkOf(point, element_bytes));
  }
  for (const Domain& domain : domains) {
    Scoring scoring(DatasheetRoofline(gpu, type), RooflineSeen(seen));
    for (const AttentionPoint& point : split.scored) {
      if (point.shape.sequence < domain.least || point.shape.sequence > domain.most) continue;
      scoring.Add(WorkOf(point, element_bytes), model.Predict(point.shape));
    }
    KernelScore score{.gpu = gpu, .data_type = data_type, .kernel = kernel, .domain = domain.name};
    score.point_count = static_cast<int64_t>(split.calibration.size());
    scoring.FillIn(score);
    out.scores.push_back(score);
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelScores> ScoresOf(const std::vector<CsvRow>& rows, Picking* pick,
                                      absl::Span<const Domain> domains) {
  SEXTANT_ASSIGN_OR_RETURN(const auto tables, AttentionTable(rows));
  KernelScores out;
  for (const auto& [key, points] : tables) {
    SEXTANT_RETURN_IF_ERROR(Score({.key = key, .points = points}, pick, domains, out));
  }
  return out;
}

}  // namespace

absl::StatusOr<KernelScores> AttentionScores(const std::vector<CsvRow>& rows) {
  return ScoresOf(rows, AttentionPick, kDomains);
}

absl::StatusOr<KernelScores> AttentionLimits(const std::vector<CsvRow>& rows) {
  return ScoresOf(rows, EverySecond, absl::MakeSpan(kDomains).first(1));
}

}  // namespace sextant
