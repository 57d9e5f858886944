#include "tests/validation/gemm_accuracy.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/gemm_model.h"
#include "tests/validation/gemm_rows.h"

namespace sextant {
namespace {

struct Domain {
  const char* name;
  bool (*holds)(const GemmShape& shape);
};

constexpr Domain kDomains[] = {
    {"m to 8192, n and k 1024 to 16384", InGemmDomain},
    {"- of these, even", [](const GemmShape& s) { return InGemmDomain(s) && InEvenHalf(s); }},
    {"- of these, odd", [](const GemmShape& s) { return InGemmDomain(s) && !InEvenHalf(s); }},
    {"n or k outside 1024 to 16384",
     [](const GemmShape& s) {
       return !InGemmDomain({1, s.n, s.k});
     }},
    {"m above 8192",
     [](const GemmShape& s) {
       return s.m > 8192 && InGemmDomain({1, s.n, s.k});
     }},
    {"all", [](const GemmShape&) { return true; }}};

// Operands read and the bf16 result written once; quantising x is not in a roofline of peaks.
ScoredWork WorkOf(const MeasuredGemm& gemm, double element_bytes) {
  const GemmSize size(gemm.shape);
  return {.flops = GemmFlops(gemm.shape).value(),
          .bytes = element_bytes * size.k * (size.m + size.n) + 2 * size.m * size.n,
          .seconds = gemm.time.value()};
}

std::vector<MeasuredGemm> Unseen(const std::vector<MeasuredGemm>& gemms, const GemmModel& model) {
  std::vector<MeasuredGemm> out;
  for (const MeasuredGemm& gemm : gemms) {
    const bool seen =
        std::any_of(model.measured().begin(), model.measured().end(),
                    [&](const MeasuredGemm& other) { return other.shape == gemm.shape; });
    if (!seen) out.push_back(gemm);
  }
  return out;
}

std::string FormName(const GemmModel& model) {
  return model.chosen().form == GemmForm::kTiles ? "tiles" : "grid";
}

// A model, and what it has not seen.
struct Fitted {
  GemmKey key;
  GemmModel model;
  std::vector<MeasuredGemm> unseen;
};

// Scores shapes of `of` in one domain by `predict`.
template <typename Predict>
absl::optional<KernelScore> ScoreOf(const Fitted& of, const Domain& domain,
                                    const Predict& predict) {
  const auto& [gpu, type, library] = of.key;
  const double element_bytes = of.model.fit().roofline.element_bytes;
  std::vector<ScoredWork> seen;
  for (const MeasuredGemm& gemm : of.model.measured()) seen.push_back(WorkOf(gemm, element_bytes));
  Scoring scoring(DatasheetRoofline(gpu, of.model.type().data_type), RooflineSeen(seen));
  for (const MeasuredGemm& gemm : of.unseen) {
    if (!domain.holds(gemm.shape)) continue;
    scoring.Add(WorkOf(gemm, element_bytes), predict(gemm.shape));
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
    auto score = ScoreOf(of, domain, [&](const GemmShape& s) { return of.model.Predict(s); });
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
  const OtherGemmType type = {of.model.type(), own->flops_per_second / other->flops_per_second};
  auto score = ScoreOf(of, kDomains[0],
                       [&](const GemmShape& s) { return by.model.PredictOtherType(s, type); });
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
    [](const GemmShape& s) { return s.m >= 16 && s.m <= 1024 && InGemmDomain(s); }};

bool IsOneOfFew(const GemmShape& shape) {
  const auto* rows = std::find(std::begin(kFewRows), std::end(kFewRows), shape.m);
  const auto* sizes =
      std::find(std::begin(kFewSizes), std::end(kFewSizes), std::pair(shape.n, shape.k));
  return rows != std::end(kFewRows) && sizes != std::end(kFewSizes);
}

void AddOfFewPoints(const GemmKey& key, const std::vector<MeasuredGemm>& gemms, KernelScores& out) {
  GemmCalibration calibration = GemmCalibrationOf(key, gemms);
  calibration.checks.clear();
  calibration.points.clear();
  for (const MeasuredGemm& gemm : gemms) {
    if (IsOneOfFew(gemm.shape)) calibration.points.push_back(gemm);
  }
  absl::StatusOr<GemmModel> model = GemmModel::Of(calibration);
  if (!model.ok()) return;
  std::vector<MeasuredGemm> unseen = Unseen(gemms, *model);
  const Fitted of = {key, *std::move(model), std::move(unseen)};
  auto score = ScoreOf(of, kAmongFew, [&](const GemmShape& s) { return of.model.Predict(s); });
  if (!score.has_value()) return;
  score->kernel = absl::StrCat(std::get<2>(key), ", ", FormName(of.model));
  score->point_count = static_cast<int64_t>(of.model.measured().size());
  out.scores.push_back(*std::move(score));
}

}  // namespace

absl::StatusOr<KernelScores> GemmScores(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const GemmTable table, GemmTableOf(rows));
  KernelScores out;
  std::vector<Fitted> fitted;
  for (const auto& [key, gemms] : table) {
    const auto& [gpu, type, library] = key;
    absl::StatusOr<GemmModel> model = GemmModel::Of(GemmCalibrationOf(key, gemms));
    if (!model.ok()) {
      out.left_out.push_back(absl::StrCat(gpu, " ", type, " ", library, ": ", gemms.size(),
                                          " rows, ", model.status().message()));
      continue;
    }
    std::vector<MeasuredGemm> unseen = Unseen(gemms, *model);
    fitted.push_back({key, *std::move(model), std::move(unseen)});
  }
  for (const Fitted& of : fitted) AddOwn(of, out);
  for (const auto& [key, gemms] : table) AddOfFewPoints(key, gemms, out);
  for (const Fitted& of : fitted) {
    for (const Fitted& by : fitted) AddByOther(of, by, out);
  }
  return out;
}

}  // namespace sextant
