#include "gpu_probe/health/limit_rule.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/clock_limit.h"
#include "gpu_probe/enum_text.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/health/figures.h"

namespace sextant {
namespace {

using Matmuls = google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>;

// How far a rate is up to its limit; 0 where there is none to compare it with.
struct LimitShare {
  double ratio = 0;
  double doubt = 0;
};

LimitShare LimitShareOf(const v1::MatmulMeasurement& matmul, const v1::Calibration& calibration) {
  LimitShare share = {.ratio = matmul.register_ratio(), .doubt = DoubtOf(matmul.time())};
  double register_doubt = 0;
  for (const v1::RegisterMeasurement& r : calibration.registers()) {
    if (r.data_type() != matmul.data_type()) continue;
    share.ratio = std::max(share.ratio, matmul.flops_per_second() / r.flops_per_second());
    register_doubt = std::max(register_doubt, DoubtOf(r.time()));
  }
  const double limit = ClockLimit(calibration.device(), matmul.data_type(),
                                  calibration.conditions().maximum_sm_clock_hertz());
  if (limit > 0) share.ratio = std::max(share.ratio, matmul.flops_per_second() / limit);
  share.doubt += register_doubt;
  return share;
}

void FindIn(const Matmuls& matmuls, const char* suffix, double tolerance,
            const v1::Calibration& calibration, std::vector<Finding>* out) {
  for (const v1::MatmulMeasurement& m : matmuls) {
    const LimitShare share = LimitShareOf(m, calibration);
    if (share.ratio <= 1 + tolerance + share.doubt) continue;
    const std::string figure = absl::StrCat("matmul ", EnumText(m.data_type()), suffix);
    const double limit = m.flops_per_second() / share.ratio;
    Finding finding = {
        .status = HealthStatus::kUnknown,
        .rule = "limit",
        .figure = figure,
        .unit = "FLOP/s",
        .value = m.flops_per_second(),
        .reference = limit,
        .ratio = share.ratio,
        .message = absl::StrFormat("%s is %.2f times %s, the most that it can do: the measurement "
                                   "is wrong, measure again",
                                   FineRateText(m.flops_per_second(), "FLOP/s"), share.ratio,
                                   FineRateText(limit, "FLOP/s"))};
    const auto same = std::find_if(out->begin(), out->end(),
                                   [&](const Finding& f) { return f.figure == figure; });
    if (same == out->end()) {
      out->push_back(std::move(finding));
    } else if (finding.ratio > same->ratio) {
      *same = std::move(finding);
    }
  }
}

}  // namespace

std::vector<Finding> FindBeyondLimit(const v1::Calibration& calibration, double tolerance) {
  std::vector<Finding> findings;
  FindIn(calibration.matmuls(), "", tolerance, calibration, &findings);
  FindIn(calibration.sustained_matmuls(), " sustained", tolerance, calibration, &findings);
  return findings;
}

std::vector<std::string> BeyondItsClock(const v1::Calibration& calibration, double tolerance) {
  std::vector<std::string> notes;
  for (const v1::MatmulMeasurement& m : calibration.sustained_matmuls()) {
    const double hertz = m.has_counted_sm_clock_hertz() ? m.counted_sm_clock_hertz()
                         : m.has_sm_clock_hertz()       ? m.sm_clock_hertz()
                                                        : calibration.conditions().sm_clock_hertz();
    const double limit = ClockLimit(calibration.device(), m.data_type(), hertz);
    if (limit <= 0 || m.flops_per_second() <= limit * (1 + tolerance + DoubtOf(m.time()))) continue;
    notes.push_back(absl::StrFormat(
        "Its matmul %s sustained is %.2f times what it can do at its clock meanwhile, %.0f MHz: "
        "either the clock or the rate is wrong.",
        EnumText(m.data_type()), m.flops_per_second() / limit, hertz / 1e6));
  }
  return notes;
}

std::vector<std::string> TypesWithoutLimit(const v1::Calibration& calibration) {
  std::vector<std::string> types;
  for (const auto* matmuls : {&calibration.matmuls(), &calibration.sustained_matmuls()}) {
    for (const v1::MatmulMeasurement& m : *matmuls) {
      const std::string type = EnumText(m.data_type());
      const bool known = LimitShareOf(m, calibration).ratio > 0;
      if (!known && std::find(types.begin(), types.end(), type) == types.end()) {
        types.push_back(type);
      }
    }
  }
  return types;
}

}  // namespace sextant
