#include "tests/validation/matmul_accuracy.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/matmul_model.h"
#include "tests/validation/matmul_rows.h"

namespace sextant {
namespace {

struct Domain {
  const char* name;
  bool (*holds)(const MatmulShape& shape);
};

constexpr Domain kDomains[] = {
    {"m to 8192, n and k 1024 to 16384", InMatmulDomain},
    {"- of these, even", [](const MatmulShape& s) { return InMatmulDomain(s) && InEvenHalf(s); }},
    {"- of these, odd", [](const MatmulShape& s) { return InMatmulDomain(s) && !InEvenHalf(s); }},
    {"n or k outside 1024 to 16384",
     [](const MatmulShape& s) {
       return !InMatmulDomain({1, s.n, s.k});
     }},
    {"m above 8192",
     [](const MatmulShape& s) {
       return s.m > 8192 && InMatmulDomain({1, s.n, s.k});
     }},
    {"all", [](const MatmulShape&) { return true; }}};

// Operands read and the bf16 result written once; quantising x is not in a roofline of peaks.
ScoredWork WorkOf(const MatmulPoint& matmul, double element_bytes) {
  const MatmulDimensions size(matmul.shape);
  return {.flops = MatmulFlops(matmul.shape).value(),
          .bytes = element_bytes * size.k * (size.m + size.n) + 2 * size.m * size.n,
          .seconds = matmul.time.value()};
}

std::vector<MatmulPoint> Unseen(const std::vector<MatmulPoint>& matmuls, const MatmulModel& model) {
  std::vector<MatmulPoint> out;
  for (const MatmulPoint& matmul : matmuls) {
    const bool seen =
        std::any_of(model.measured().begin(), model.measured().end(),
                    [&](const MatmulPoint& other) { return other.shape == matmul.shape; });
    if (!seen) out.push_back(matmul);
  }
  return out;
}

std::string FormName(const MatmulModel& model) {
  return model.chosen().form == MatmulForm::kTiles ? "tiles" : "grid";
}

// A model, and what it has not seen.
struct Fitted {
  MatmulKey key;
  MatmulModel model;
  std::vector<MatmulPoint> unseen;
};

// Scores shapes of `of` in one domain by `predict`.
template <typename Predict>
absl::optional<KernelScore> ScoreOf(const Fitted& of, const Domain& domain,
                                    const Predict& predict) {
  const auto& [gpu, type, library] = of.key;
  const double element_bytes = of.model.fit().roofline.element_bytes;
  std::vector<ScoredWork> seen;
  for (const MatmulPoint& matmul : of.model.measured())
    seen.push_back(WorkOf(matmul, element_bytes));
  Scoring scoring(DatasheetRoofline(gpu, of.model.type().data_type), RooflineSeen(seen));
  for (const MatmulPoint& matmul : of.unseen) {
    if (!domain.holds(matmul.shape)) continue;
    scoring.Add(WorkOf(matmul, element_bytes), predict(matmul.shape));
  }
  if (scoring.empty()) return absl::nullopt;
  KernelScore score;
  score.gpu = gpu;
  score.data_type = type;
  score.domain = domain.name;
  scoring.FillIn(score);
  return score;
}

void AddOwn(const Fitted& of, KernelScores& out) {
  for (const Domain& domain : kDomains) {
    auto score = ScoreOf(of, domain, [&](const MatmulShape& s) { return of.model.Predict(s); });
    if (!score.has_value()) continue;
    score->kernel = absl::StrCat(std::get<2>(of.key), ", ", FormName(of.model));
    score->point_count = static_cast<int64_t>(of.model.measured().size());
    out.scores.push_back(*std::move(score));
  }
}

// `of` by the points of another type of the same device.
void AddByOther(const Fitted& of, const Fitted& by, KernelScores& out) {
  const std::string& gpu = std::get<0>(of.key);
  const auto own = DatasheetRoofline(gpu, of.model.type().data_type);
  const auto other = DatasheetRoofline(gpu, by.model.type().data_type);
  if (std::get<0>(by.key) != gpu || by.key == of.key || !own.has_value() || !other.has_value()) {
    return;
  }
  const OtherMatmulType type = {of.model.type(), own->flops_per_second / other->flops_per_second};
  auto score = ScoreOf(of, kDomains[0],
                       [&](const MatmulShape& s) { return by.model.PredictOtherType(s, type); });
  if (!score.has_value()) return;
  score->kernel = absl::StrCat("from ", std::get<1>(by.key));
  score->point_count = static_cast<int64_t>(by.model.measured().size());
  out.scores.push_back(*std::move(score));
}

// Spread as the 18 shapes of a processor's standard grid are: three counts of rows, and six pairs
// of n and k.
constexpr int64_t kFewRows[] = {16, 256, 1024};
constexpr std::pair<int64_t, int64_t> kFewSizes[] = {{1024, 1024}, {1024, 4096},  {4096, 1024},
                                                     {4096, 4096}, {4096, 16384}, {16384, 4096}};
constexpr Domain kAmongFew = {
    "18 points, m 16 to 1024, n and k 1024 to 16384",
    [](const MatmulShape& s) { return s.m >= 16 && s.m <= 1024 && InMatmulDomain(s); }};

bool IsOneOfFew(const MatmulShape& shape) {
  const auto* rows = std::find(std::begin(kFewRows), std::end(kFewRows), shape.m);
  const auto* sizes =
      std::find(std::begin(kFewSizes), std::end(kFewSizes), std::pair(shape.n, shape.k));
  return rows != std::end(kFewRows) && sizes != std::end(kFewSizes);
}

void AddOfFewPoints(const MatmulKey& key, const std::vector<MatmulPoint>& matmuls,
                    KernelScores& out) {
  MatmulCalibration calibration = MatmulCalibrationOf(key, matmuls);
  calibration.checks.clear();
  calibration.points.clear();
  for (const MatmulPoint& matmul : matmuls) {
    if (IsOneOfFew(matmul.shape)) calibration.points.push_back(matmul);
  }
  absl::StatusOr<MatmulModel> model = MatmulModel::Of(calibration);
  if (!model.ok()) return;
  std::vector<MatmulPoint> unseen = Unseen(matmuls, *model);
  const Fitted of = {key, *std::move(model), std::move(unseen)};
  auto score = ScoreOf(of, kAmongFew, [&](const MatmulShape& s) { return of.model.Predict(s); });
  if (!score.has_value()) return;
  score->kernel = absl::StrCat(std::get<2>(key), ", ", FormName(of.model));
  score->point_count = static_cast<int64_t>(of.model.measured().size());
  out.scores.push_back(*std::move(score));
}

}  // namespace

absl::StatusOr<KernelScores> MatmulScores(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const MatmulTable table, MatmulTableOf(rows));
  KernelScores out;
  std::vector<Fitted> fitted;
  for (const auto& [key, matmuls] : table) {
    const auto& [gpu, type, library] = key;
    absl::StatusOr<MatmulModel> model = MatmulModel::Of(MatmulCalibrationOf(key, matmuls));
    if (!model.ok()) {
      out.left_out.push_back(absl::StrCat(gpu, " ", type, " ", library, ": ", matmuls.size(),
                                          " rows, ", model.status().message()));
      continue;
    }
    std::vector<MatmulPoint> unseen = Unseen(matmuls, *model);
    fitted.push_back({key, *std::move(model), std::move(unseen)});
  }
  for (const Fitted& of : fitted) AddOwn(of, out);
  for (const auto& [key, matmuls] : table) AddOfFewPoints(key, matmuls, out);
  for (const Fitted& of : fitted) {
    for (const Fitted& by : fitted) AddByOther(of, by, out);
  }
  return out;
}

}  // namespace sextant
