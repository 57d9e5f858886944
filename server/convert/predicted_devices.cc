#include "server/convert/predicted_devices.h"

#include <algorithm>
#include <utility>

#include "server/convert/calibration.h"
#include "server/convert/measured_kernels.h"
#include "server/convert/product_peers.h"
#include "server/convert/stream_passes.h"

namespace sextant {
namespace {

// What models are trained in on `accelerator`: fp16 where it has no bf16, as a V100.
std::vector<DataType> UsualTypesOf(const Accelerator& accelerator) {
  const bool has_bf16 = static_cast<bool>(PeakFlopsPerSecond(accelerator, DataType::kBf16));
  return {has_bf16 ? DataType::kBf16 : DataType::kFp16, DataType::kFp8E4m3};
}

}  // namespace

void PredictedDevices::Add(const v1::Calibration& calibration, RateSource source) {
  calibrations_.push_back(DeviceCalibrationFrom(calibration, ""));
  measured_.push_back({.calibration = &calibrations_.back(),
                       .source = source,
                       .gemms = GemmsFrom(calibration),
                       .attentions = AttentionsFrom(calibration),
                       .experts = ExpertsFrom(calibration),
                       .collectives = CollectivesFrom(calibration),
                       .host_copies = HostCopiesFrom(calibration),
                       .passes = StreamPassesFrom(calibration)});
  devices_.push_back({.measured = &measured_.back()});
}

PredictedDevices PredictedDevices::OfProduct(const Accelerator& accelerator,
                                             const CalibrationSnapshot& snapshot,
                                             const CalibrationQuery& query) {
  PredictedDevices out;
  out.join_ = DeviceJoin::kMedian;
  ProductPeers peers = PeersOf(accelerator, snapshot, query);
  for (const v1::Calibration* peer : peers.calibrations) {
    out.Add(*peer, RateSource::kMeasuredModel);
  }
  out.assumptions_ = std::move(peers.assumptions);
  if (out.devices_.empty()) out.devices_.push_back({.accelerator = &accelerator});
  return out;
}

PredictedDevices PredictedDevices::OfCalibrations(
    absl::Span<const v1::Calibration* const> calibrations, RateSource source) {
  PredictedDevices out;
  for (const v1::Calibration* calibration : calibrations) out.Add(*calibration, source);
  return out;
}

std::vector<DataType> PredictedDevices::MeasuredTypes() const {
  if (measured_.empty()) return UsualTypesOf(*devices_.front().accelerator);
  std::vector<DataType> out;
  for (const MeasuredGemms& of_type : measured_.front().gemms) {
    const bool everywhere =
        std::all_of(calibrations_.begin(), calibrations_.end(), [&](const auto& calibration) {
          return calibration.MatmulIn(of_type.data_type) != nullptr;
        });
    if (everywhere) out.push_back(of_type.data_type);
  }
  return out;
}

}  // namespace sextant
