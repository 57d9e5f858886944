#include "gpu_probe/health/findings.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/points/matmul.h"
#include "gpu_probe/statistics.h"
#include "proto/matmul_kind.h"
#include "proto/text/enum_names.h"
#include "proto/text/format.h"

namespace sextant::probe {
namespace {

int Badness(HealthStatus status) {
  switch (status) {
    case HealthStatus::kOk:
      return 0;
    case HealthStatus::kUnknown:
      return 1;
    case HealthStatus::kWarning:
      return 2;
    case HealthStatus::kCritical:
      return 3;
  }
  return 1;
}

// Clocks come in steps of 15 MHz, and power comes from a counter that is read now and then.
constexpr double kMinClockDeficit = 0.01;
constexpr double kMinPowerDeficit = 0.03;
constexpr double kHertzPerMegahertz = 1e6;

struct Deficit {
  double share = 0;  // below the references' median; 0 or less: not below
  double own = 0;
  double median = 0;
};

// The deficit in a condition read by `of`, 0 where it is not reported.
template <typename Read>
Deficit DeficitOf(const MeasuredDevice& judged, absl::Span<const MeasuredDevice* const> references,
                  Read of) {
  const double own = of(judged.calibration.conditions());
  std::vector<double> others;
  for (const MeasuredDevice* reference : references) {
    const double value = of(reference->calibration.conditions());
    if (value > 0) others.push_back(value);
  }
  if (!(own > 0) || others.empty()) return {};
  const double median = Median(others);
  return {.share = 1 - own / median, .own = own, .median = median};
}

Finding HeldDown(HealthStatus status, double share, int readings, absl::string_view by,
                 absl::string_view advice) {
  return {.status = status,
          .rule = "throttle",
          .unit = "ratio",
          .value = share,
          .reference = 0,
          .ratio = share,
          .message = absl::StrCat(by, " held its clock down in ", text::PercentToTenth(share),
                                  " of ", readings, " readings: ", advice)};
}

// A rate's ratio to its limit; 0 without a limit to compare with.
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

void FindIn(const MatmulList& matmuls, const char* suffix, double tolerance,
            const v1::Calibration& calibration, std::vector<Finding>* out) {
  for (const v1::MatmulMeasurement* each : matmuls) {
    const v1::MatmulMeasurement& m = *each;
    const LimitShare share = LimitShareOf(m, calibration);
    if (share.ratio <= 1 + tolerance + share.doubt) continue;
    const std::string figure = absl::StrCat("matmul ", text::EnumLabel(m.data_type()), suffix);
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
                                   text::ScaledToFourDigits(m.flops_per_second(), "FLOP/s"),
                                   share.ratio, text::ScaledToFourDigits(limit, "FLOP/s"))};
    const auto same = std::find_if(out->begin(), out->end(),
                                   [&](const Finding& f) { return f.figure == figure; });
    if (same == out->end()) {
      out->push_back(std::move(finding));
    } else if (finding.ratio > same->ratio) {
      *same = std::move(finding);
    }
  }
}

// Rank of a mode by how much it measures.
int Thoroughness(v1::ProbeMode mode) {
  switch (mode) {
    case v1::PROBE_MODE_QUICK:
      return 0;
    case v1::PROBE_MODE_FULL:
      return 2;
    default:
      return 1;
  }
}

struct Expected {
  std::string unit;
  int count = 0;       // references that have the figure
  int comparable = 0;  // of these, those with a point in common
};

Finding Missing(const std::string& figure, const Expected& expected, bool cut_short,
                const std::string& have_it) {
  const char* why = cut_short ? "the run was cut short before it came to it"
                              : "the run was not cut short: the device no longer does this";
  return {.status = cut_short ? HealthStatus::kUnknown : HealthStatus::kCritical,
          .rule = "missing",
          .figure = figure,
          .unit = expected.unit,
          .message = absl::StrCat("is missing, though ", have_it, "; ", why)};
}

Finding Incomparable(const HealthMetric& figure, const std::string& have_it) {
  const RatePoint& best = BestOf(figure);
  return {.status = HealthStatus::kWarning,
          .rule = "comparable",
          .figure = figure.name,
          .unit = figure.unit,
          .value = best.rate,
          .message = absl::StrCat("was measured by other shapes or another library (", best.key,
                                  ") than before, and can't be compared, though ", have_it)};
}

}  // namespace

const char* HealthStatusText(HealthStatus status) {
  switch (status) {
    case HealthStatus::kOk:
      return "OK";
    case HealthStatus::kWarning:
      return "WARNING";
    case HealthStatus::kCritical:
      return "CRITICAL";
    case HealthStatus::kUnknown:
      return "UNKNOWN";
  }
  return "UNKNOWN";
}

HealthStatus Worse(HealthStatus a, HealthStatus b) { return Badness(a) >= Badness(b) ? a : b; }

std::vector<Finding> FindThrottling(const v1::Calibration& calibration) {
  std::vector<Finding> findings;
  const v1::OperatingConditions& c = calibration.conditions();
  if (c.hardware_throttle_ratio() > 0) {
    findings.push_back(HeldDown(HealthStatus::kCritical, c.hardware_throttle_ratio(),
                                c.reading_count(), "the hardware's own protection",
                                "see to its power supply and its cooling"));
  }
  if (c.thermal_throttle_ratio() > 0) {
    findings.push_back(HeldDown(HealthStatus::kWarning, c.thermal_throttle_ratio(),
                                c.reading_count(), "heat", "see to its cooling"));
  }
  return findings;
}

std::string LowClockText(const MeasuredDevice& judged,
                         absl::Span<const MeasuredDevice* const> references,
                         absl::string_view whose) {
  const Deficit clock = DeficitOf(judged, references, [](const v1::OperatingConditions& c) {
    return c.sm_clock_hertz() / kHertzPerMegahertz;
  });
  if (clock.share <= kMinClockDeficit) return "";
  return absl::StrFormat("its clock was %s below %s, %.0f MHz against %.0f MHz",
                         text::PercentToTenth(clock.share), whose, clock.own, clock.median);
}

std::string LowPowerText(const MeasuredDevice& judged,
                         absl::Span<const MeasuredDevice* const> references,
                         absl::string_view than_whom) {
  const Deficit power = DeficitOf(judged, references,
                                  [](const v1::OperatingConditions& c) { return c.power_watts(); });
  if (power.share <= kMinPowerDeficit) return "";
  return absl::StrFormat("it drew %s less power than %s, %.0f W against %.0f W",
                         text::PercentToTenth(power.share), than_whom, power.own, power.median);
}

bool GoesByClock(absl::string_view figure) {
  return absl::StartsWith(figure, "matmul") || figure == "elementwise arithmetic" ||
         figure == kAllFigures;
}

std::vector<Finding> FindBeyondLimit(const v1::Calibration& calibration, double tolerance) {
  std::vector<Finding> findings;
  FindIn(MatmulsWhere(calibration, IsShapeBurst), "", tolerance, calibration, &findings);
  FindIn(MatmulsWhere(calibration, IsSustained), " sustained", tolerance, calibration, &findings);
  return findings;
}

std::vector<std::string> BeyondItsClock(const v1::Calibration& calibration, double tolerance) {
  std::vector<std::string> notes;
  for (const v1::MatmulMeasurement& m : calibration.matmuls()) {
    if (!IsSustained(m)) continue;
    const double hertz = m.has_counted_sm_clock_hertz() ? m.counted_sm_clock_hertz()
                         : m.has_sm_clock_hertz()       ? m.sm_clock_hertz()
                                                        : calibration.conditions().sm_clock_hertz();
    const double limit = ClockLimit(calibration.device(), m.data_type(), hertz);
    if (limit <= 0 || m.flops_per_second() <= limit * (1 + tolerance + DoubtOf(m.time()))) continue;
    notes.push_back(absl::StrFormat(
        "Its matmul %s sustained is %.2f times what it can do at its clock meanwhile, %.0f MHz: "
        "either the clock or the rate is wrong.",
        text::EnumLabel(m.data_type()), m.flops_per_second() / limit, hertz / 1e6));
  }
  return notes;
}

std::vector<std::string> TypesWithoutLimit(const v1::Calibration& calibration) {
  std::vector<std::string> types;
  for (const auto& matmuls :
       {MatmulsWhere(calibration, IsShapeBurst), MatmulsWhere(calibration, IsSustained)}) {
    for (const v1::MatmulMeasurement* m : matmuls) {
      const std::string type = text::EnumLabel(m->data_type());
      const bool known = LimitShareOf(*m, calibration).ratio > 0;
      if (!known && std::find(types.begin(), types.end(), type) == types.end()) {
        types.push_back(type);
      }
    }
  }
  return types;
}

std::vector<Finding> FindMissing(const MeasuredDevice& judged,
                                 absl::Span<const MeasuredDevice* const> references,
                                 absl::string_view whose) {
  int reference_count = 0;
  std::map<std::string, Expected> expected;
  for (const MeasuredDevice* reference : references) {
    if (Thoroughness(reference->calibration.mode()) > Thoroughness(judged.calibration.mode())) {
      continue;
    }
    ++reference_count;
    for (const HealthMetric& figure : reference->figures) {
      Expected& e = expected[figure.name];
      e.unit = figure.unit;
      ++e.count;
      const HealthMetric* const own = FigureNamed(figure.name, judged.figures);
      if (own != nullptr && CompareFigures(*own, figure).has_value()) ++e.comparable;
    }
  }
  std::vector<Finding> findings;
  for (const auto& [name, e] : expected) {
    if (2 * e.count <= reference_count || e.comparable > 0) continue;
    const std::string have_it =
        absl::StrFormat("%d of %d of %s have it", e.count, reference_count, whose);
    const HealthMetric* const own = FigureNamed(name, judged.figures);
    const bool cut_short = judged.calibration.coverage_ratio() < 1;
    findings.push_back(own == nullptr ? Missing(name, e, cut_short, have_it)
                                      : Incomparable(*own, have_it));
  }
  return findings;
}

}  // namespace sextant::probe
