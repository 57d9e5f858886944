#include "gpu_probe/health/figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/matmul_kind.h"
#include "proto/text/enum_names.h"

namespace sextant::probe {
namespace {

// "onednn" of "onednn 2.6.3": versions of a library are compared with each other, since being
// slower with a newer one is worth knowing.
absl::string_view LibraryOf(const std::string& engine) {
  return absl::string_view(engine).substr(0, engine.find(' '));
}

// Figures in order of their first point.
class FigureList {
 public:
  void Add(const std::string& name, const char* unit, RatePoint point) {
    const auto [found, added] = index_.try_emplace(name, figures_.size());
    if (added) figures_.push_back({.name = name, .unit = unit, .points = {}});
    std::vector<RatePoint>& points = figures_[found->second].points;
    const auto at =
        std::lower_bound(points.begin(), points.end(), point,
                         [](const RatePoint& a, const RatePoint& b) { return a.key < b.key; });
    if (at == points.end() || at->key != point.key) {
      points.insert(at, std::move(point));
    } else if (point.rate > at->rate) {
      *at = std::move(point);
    }
  }

  std::vector<HealthMetric> Take() { return std::move(figures_); }

 private:
  std::map<std::string, size_t> index_;
  std::vector<HealthMetric> figures_;
};

void AddMatmuls(const MatmulList& matmuls, absl::string_view suffix, FigureList* out) {
  for (const v1::MatmulMeasurement* m : matmuls) {
    out->Add(absl::StrCat("matmul ", text::EnumLabel(m->data_type()), suffix), "FLOP/s",
             {.key = absl::StrCat(m->m(), "x", m->n(), "x", m->k(), " ", LibraryOf(m->engine())),
              .rate = m->flops_per_second(),
              .doubt = DoubtOf(m->time()),
              .stable = m->time().stable()});
  }
}

void AddPasses(const v1::Calibration& calibration, FigureList* out) {
  for (const v1::StreamMeasurement& s : calibration.streams()) {
    const bool judged = s.operation() == v1::StreamMeasurement::OPERATION_COPY ||
                        s.operation() == v1::StreamMeasurement::OPERATION_TRIAD;
    if (!s.main_memory() || !judged) continue;
    // For any size of the array: beyond the caches the rate does not depend on it.
    out->Add(text::EnumLabel(s.operation()), "B/s",
             {.key = "",
              .rate = s.bytes_per_second(),
              .doubt = DoubtOf(s.time()),
              .stable = s.time().stable()});
  }
  for (const v1::ElementwiseMeasurement& e : calibration.elementwise()) {
    const std::string key = absl::StrCat(e.multiply_add_count());
    const double doubt = DoubtOf(e.time());
    const bool stable = e.time().stable();
    out->Add("elementwise bandwidth", "B/s",
             {.key = key, .rate = e.bytes_per_second(), .doubt = doubt, .stable = stable});
    out->Add("elementwise arithmetic", "FLOP/s",
             {.key = key, .rate = e.flops_per_second(), .doubt = doubt, .stable = stable});
  }
}

// Drivers report whole or tenths of watts, rounded.
constexpr double kSamePowerWatts = 1;

bool IsBefore(const MeasuredDevice& a, const MeasuredDevice& b) {
  const int by_uuid = a.device().uuid().compare(b.device().uuid());
  return by_uuid != 0 ? by_uuid < 0 : a.unix_seconds() < b.unix_seconds();
}

bool IsSameMeasurement(const MeasuredDevice& a, const MeasuredDevice& b) {
  return a.device().uuid() == b.device().uuid() && a.unix_seconds() == b.unix_seconds();
}

}  // namespace

double DoubtOf(const v1::TimeStatistics& time) {
  if (time.stable()) return 0;
  return std::max(0.0, (time.p90_seconds() - time.p10_seconds()) / (2 * time.median_seconds()));
}

std::vector<HealthMetric> FiguresOf(const v1::Calibration& calibration) {
  FigureList list;
  AddMatmuls(MatmulsWhere(calibration, IsGridBurst), "", &list);
  AddMatmuls(MatmulsWhere(calibration, IsSustained), " sustained", &list);
  AddPasses(calibration, &list);
  return list.Take();
}

const HealthMetric* FigureNamed(absl::string_view name, const std::vector<HealthMetric>& figures) {
  for (const HealthMetric& figure : figures) {
    if (figure.name == name) return &figure;
  }
  return nullptr;
}

const RatePoint& BestOf(const HealthMetric& figure) {
  return *std::max_element(figure.points.begin(), figure.points.end(),
                           [](const RatePoint& a, const RatePoint& b) { return a.rate < b.rate; });
}

absl::optional<RatePair> CompareFigures(const HealthMetric& judged, const HealthMetric& reference) {
  const RatePoint* best_judged = nullptr;
  const RatePoint* best_reference = nullptr;
  auto a = judged.points.begin();
  auto b = reference.points.begin();
  while (a != judged.points.end() && b != reference.points.end()) {
    if (a->key != b->key) {
      (a->key < b->key ? a : b)++;
      continue;
    }
    if (best_judged == nullptr || a->rate > best_judged->rate) best_judged = &*a;
    if (best_reference == nullptr || b->rate > best_reference->rate) best_reference = &*b;
    ++a;
    ++b;
  }
  if (best_judged == nullptr) return absl::nullopt;
  return RatePair{.log_deficit = std::log(best_reference->rate / best_judged->rate),
                  .judged_doubt = best_judged->doubt,
                  .reference_doubt = best_reference->doubt,
                  .judged_stable = best_judged->stable,
                  .reference_stable = best_reference->stable};
}

std::vector<KnownDevice> GroupByDevice(std::vector<MeasuredDevice> all) {
  std::stable_sort(all.begin(), all.end(), IsBefore);
  all.erase(std::unique(all.begin(), all.end(), IsSameMeasurement), all.end());
  std::vector<KnownDevice> devices;
  for (MeasuredDevice& measured : all) {
    if (devices.empty() || devices.back().newest.device().uuid() != measured.device().uuid()) {
      devices.push_back({.newest = std::move(measured), .older = {}});
      continue;
    }
    devices.back().older.push_back(std::move(devices.back().newest));
    devices.back().newest = std::move(measured);
  }
  return devices;
}

bool IsAlike(const v1::Device& a, const v1::Device& b) {
  if (a.kind() != b.kind() || a.product_name() != b.product_name()) return false;
  if (a.has_compute_unit_count() != b.has_compute_unit_count() ||
      a.compute_unit_count() != b.compute_unit_count()) {
    return false;
  }
  return a.has_power_limit_watts() == b.has_power_limit_watts() &&
         std::abs(a.power_limit_watts() - b.power_limit_watts()) <= kSamePowerWatts;
}

}  // namespace sextant::probe
