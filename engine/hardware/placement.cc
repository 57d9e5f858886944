#include "engine/hardware/placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

// Drivers report whole watts; datasheets print rounded figures.
constexpr double kLikeLimit = 0.01;

// Counts of a product's measured devices by reason for leaving them out.
struct Census {
  size_t measured = 0;
  size_t too_old = 0;
  size_t of_unknown_limit = 0;
  std::vector<double> other_limits;
};

// Returns "2 of 3 measured h200-sxm".
std::string Part(size_t count, const Census& census, const Accelerator& accelerator) {
  return absl::StrCat(count, " of ", census.measured, " measured ", accelerator.name);
}

NoteValue CountValue(size_t count) { return {"device_count", count}; }

// Returns "500 W" or "500 W to 650 W".
std::string LimitsText(const std::vector<double>& limits) {
  const auto [low, high] = std::minmax_element(limits.begin(), limits.end());
  return *low == *high ? absl::StrCat(*low, " W") : absl::StrCat(*low, " W to ", *high, " W");
}

// The power limits by which devices are chosen. The datasheet's is `limit`.
void AppendLimits(const Census& census, const Accelerator& accelerator, double limit, Notes& out) {
  if (const size_t count = census.other_limits.size(); count > 0) {
    out.push_back({NoteKind::kOtherPowerLimits,
                   absl::StrCat("Left out of the median, since their power limit is ",
                                LimitsText(census.other_limits), " and the datasheet's is ", limit,
                                " W: ", Part(count, census, accelerator), "."),
                   {CountValue(count), {"power_limit_watts", limit}}});
  }
  if (const size_t count = census.of_unknown_limit; count > 0) {
    out.push_back({NoteKind::kPowerLimitAssumed,
                   absl::StrCat("Taken to have the datasheet's power limit of ", limit,
                                " W, since they say none: ", Part(count, census, accelerator), "."),
                   {CountValue(count), {"power_limit_watts", limit}}});
  }
}

Notes NotesOf(const Census& census, const Accelerator& accelerator, size_t taking_part) {
  Notes out;
  if (census.too_old > 0) {
    out.push_back({NoteKind::kMeasurementsTooOld,
                   absl::StrCat("Older than the request allows, so left out of the median: ",
                                Part(census.too_old, census, accelerator), "."),
                   {CountValue(census.too_old)}});
  }
  if (const DatasheetValue& limit = accelerator.thermal_design_power_watts; limit) {
    AppendLimits(census, accelerator, limit.value, out);
  } else if (taking_part > 0) {
    out.push_back({NoteKind::kPowerLimitUnknown,
                   absl::StrCat("The catalogue has no power limit of ", accelerator.name,
                                ": its measured devices take part whatever theirs is.")});
  }
  if (taking_part == 0 && census.measured > 0) {
    out.push_back(
        {NoteKind::kNoMeasurementLeft, absl::StrCat("No measured ", accelerator.name,
                                                    " is left, hence what is published of it.")});
  }
  return out;
}

// The types in which models are trained on `accelerator`: fp16 where it has no bf16, e.g. a V100.
std::vector<DataType> UsualTypesOf(const Accelerator& accelerator) {
  const bool has_bf16 = static_cast<bool>(PeakFlopsPerSecond(accelerator, DataType::kBf16));
  return {has_bf16 ? DataType::kBf16 : DataType::kFp16, DataType::kFp8E4m3};
}

}  // namespace

KernelSource PlacedDevice::SourceOf(KernelSource of_predictor) const {
  if (of_predictor.source == RateSource::kMeasuredSupplied) of_predictor.source = source;
  return of_predictor;
}

PlacedDevice PlacedProduct(const Accelerator& accelerator) {
  return {.model = &DeviceModel::OfProduct(accelerator)};
}

size_t DecidingDevice(absl::Span<const double> seconds, DeviceJoin join,
                      absl::Span<const RateSource> sources) {
  std::vector<size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (join == DeviceJoin::kMedian && !sources.empty()) {
    const RateSource best = *std::min_element(sources.begin(), sources.end());
    order.erase(std::remove_if(order.begin(), order.end(),
                               [&](size_t device) { return sources[device] != best; }),
                order.end());
  }
  std::stable_sort(order.begin(), order.end(),
                   [seconds](size_t a, size_t b) { return seconds[a] < seconds[b]; });
  return join == DeviceJoin::kSlowest ? order.back() : order[(order.size() - 1) / 2];
}

std::vector<DataType> Placement::MeasuredTypes() const {
  const DeviceModel& first = *devices.front().model;
  if (!first.is_measured()) return UsualTypesOf(*first.accelerator());
  std::vector<DataType> out;
  for (const MeasuredMatmul& rate : first.calibration().matmuls) {
    const bool everywhere = std::all_of(devices.begin(), devices.end(), [&](const auto& device) {
      return device.model->calibration().MatmulIn(rate.data_type) != nullptr;
    });
    if (everywhere) out.push_back(rate.data_type);
  }
  return out;
}

Placement PlacementOf(absl::Span<const DeviceModel* const> models, RateSource source) {
  Placement out;
  for (const DeviceModel* const model : models) out.devices.push_back({model, source});
  return out;
}

Placement PlacementOfProduct(const Accelerator& accelerator,
                             absl::Span<const DeviceModel* const> peers,
                             absl::optional<int64_t> oldest_unix_seconds) {
  Placement out;
  out.join = DeviceJoin::kMedian;
  Census census;
  const DatasheetValue& limit = accelerator.thermal_design_power_watts;
  for (const DeviceModel* const peer : peers) {
    const DeviceCalibration& calibration = peer->calibration();
    if (calibration.accelerator != &accelerator) continue;
    ++census.measured;
    if (oldest_unix_seconds.has_value() &&
        calibration.measured_unix_seconds < *oldest_unix_seconds) {
      ++census.too_old;
      continue;
    }
    if (!calibration.power_limit_watts.has_value()) {
      ++census.of_unknown_limit;
    } else if (const double watts = *calibration.power_limit_watts;
               limit && std::abs(watts - limit.value) > kLikeLimit * limit.value) {
      census.other_limits.push_back(watts);
      continue;
    }
    out.devices.push_back({peer, RateSource::kMeasuredModel});
  }
  out.notes = NotesOf(census, accelerator, out.devices.size());
  if (out.devices.empty()) out.devices.push_back(PlacedProduct(accelerator));
  return out;
}

void MeasuredGang::Join(const DeviceModel& model, DataType type) {
  const DeviceCalibration& calibration = model.calibration();
  if (smallest == nullptr || calibration.memory < smallest->memory) smallest = &calibration;
  const MeasuredMatmul* const its = calibration.MatmulIn(type);
  if (its == nullptr || (matmul != nullptr && its->rate >= matmul->rate)) return;
  slowest = &calibration;
  matmul = its;
}

}  // namespace sextant
