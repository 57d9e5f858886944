#include "tests/validation/gemm_accuracy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
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
    {"all", [](const GemmShape&) { return true; }}};

// Operands read and the bf16 result written once; quantising x is not in a roofline of peaks.
KernelWork WorkOf(const MeasuredGemm& gemm, double element_bytes) {
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

void Score(const GemmKey& key, const GemmModel& model, const std::vector<MeasuredGemm>& unseen,
           KernelScores& out) {
  const auto& [gpu, type, library] = key;
  const double element_bytes = model.fit().roofline.element_bytes;
  std::vector<KernelWork> seen;
  for (const MeasuredGemm& gemm : model.measured()) seen.push_back(WorkOf(gemm, element_bytes));
  for (const Domain& domain : kDomains) {
    Scoring scoring(DatasheetRoofline(gpu, model.type().data_type), RooflineSeen(seen));
    for (const MeasuredGemm& gemm : unseen) {
      if (!domain.holds(gemm.shape)) continue;
      scoring.Add(WorkOf(gemm, element_bytes), model.Predict(gemm.shape));
    }
    if (scoring.empty()) continue;
    KernelScore score;
    score.gpu = gpu;
    score.data_type = type;
    score.kernel = absl::StrCat(library, ", ", FormName(model));
    score.domain = domain.name;
    score.point_count = static_cast<int64_t>(model.measured().size());
    scoring.FillIn(score);
    out.scores.push_back(score);
  }
}

}  // namespace

absl::StatusOr<KernelScores> GemmScores(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const GemmTable table, GemmTableOf(rows));
  KernelScores out;
  for (const auto& [key, gemms] : table) {
    const auto& [gpu, type, library] = key;
    const absl::StatusOr<GemmModel> model = GemmModel::Of(GemmCalibrationOf(key, gemms));
    if (!model.ok()) {
      out.left_out.push_back(absl::StrCat(gpu, " ", type, " ", library, ": ", gemms.size(),
                                          " rows, ", model.status().message()));
      continue;
    }
    Score(key, *model, Unseen(gemms, *model), out);
  }
  return out;
}

}  // namespace sextant
