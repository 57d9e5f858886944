#include "engine/time/kernel_curves.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/attention_shape.h"

namespace sextant {
namespace {

// Sizes of a curve: powers of two from `low` to `high`, and 1.5 times each.
std::vector<int64_t> SizesOf(CurveKind kind) {
  const int64_t low = kind == CurveKind::kTokenMatmul ? 1 : 256;
  const int64_t high = kind == CurveKind::kTokenMatmul ? 32768 : 16384;
  std::vector<int64_t> out;
  for (int64_t size = low; size <= high; size *= 2) {
    out.push_back(size);
    if (size < high && size >= 256) out.push_back(size + size / 2);
  }
  return out;
}

MatmulShape MatmulAt(CurveKind kind, int64_t size) {
  constexpr int64_t kHidden = 4096;
  return kind == CurveKind::kSquareMatmul ? MatmulShape{size, size, size}
                                          : MatmulShape{size, kHidden, kHidden};
}

AttentionShape AttentionAt(int64_t size) {
  return {.batch = 1,
          .sequence = size,
          .heads = 32,
          .key_value_heads = 32,
          .query_key_head_size = 128,
          .value_head_size = 128,
          .causal = true};
}

Flops FlopsAt(CurveKind kind, int64_t size) {
  if (kind == CurveKind::kCausalAttention) return Flops(AttentionFlops(AttentionAt(size)));
  const MatmulShape shape = MatmulAt(kind, size);
  return Flops(2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
               static_cast<double>(shape.k));
}

// The times of one device at all sizes, and their source.
struct DeviceTimes {
  std::vector<KernelTime> times;
  KernelSource source;
};

template <typename Predict>
std::vector<KernelTime> TimesAt(CurveKind kind, const Predict& predict) {
  std::vector<KernelTime> out;
  for (const int64_t size : SizesOf(kind)) out.push_back(predict(size));
  return out;
}

// `device` has a model.
absl::StatusOr<absl::optional<DeviceTimes>> TimesOf(const PlacedDevice& device, CurveKind kind,
                                                    DataType type) {
  absl::optional<DeviceTimes> out;
  if (kind == CurveKind::kCausalAttention) {
    SEXTANT_ASSIGN_OR_RETURN(const AttentionPredictor* const by, device.model->Attention(type));
    if (by == nullptr) return out;
    out = DeviceTimes{TimesAt(kind, [&](int64_t size) { return by->Predict(AttentionAt(size)); }),
                      device.SourceOf(by->source())};
    return out;
  }
  SEXTANT_ASSIGN_OR_RETURN(const MatmulPredictor* const by, device.model->Matmuls(type));
  if (by == nullptr) return out;
  out = DeviceTimes{TimesAt(kind, [&](int64_t size) { return by->Predict(MatmulAt(kind, size)); }),
                    device.SourceOf(by->source())};
  return out;
}

KernelCurve CurveOf(CurveKind kind, DataType type, const std::vector<DeviceTimes>& all,
                    DeviceJoin join) {
  KernelCurve out = {.kind = kind, .data_type = type, .source = {}};
  const std::vector<int64_t> sizes = SizesOf(kind);
  std::vector<RateSource> sources;
  for (const DeviceTimes& each : all) sources.push_back(each.source.source);
  size_t deciding = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<double> seconds;
    for (const DeviceTimes& each : all) seconds.push_back(each.times[i].expected.value());
    deciding = DecidingDevice(seconds, join, sources);
    out.points.push_back(
        {.size = sizes[i], .time = all[deciding].times[i], .flops = FlopsAt(kind, sizes[i])});
  }
  out.source = all[deciding].source;
  return out;
}

}  // namespace

absl::StatusOr<std::vector<KernelCurve>> KernelCurvesOf(absl::Span<const PlacedDevice> devices,
                                                        DeviceJoin join,
                                                        absl::Span<const DataType> types,
                                                        CallWork& work) {
  std::vector<KernelCurve> out;
  for (const CurveKind kind :
       {CurveKind::kSquareMatmul, CurveKind::kTokenMatmul, CurveKind::kCausalAttention}) {
    for (const DataType type : types) {
      std::vector<DeviceTimes> all;
      for (const PlacedDevice& device : devices) {
        SEXTANT_RETURN_IF_ERROR(work.Spend(kStepsAFit));
        SEXTANT_ASSIGN_OR_RETURN(absl::optional<DeviceTimes> times, TimesOf(device, kind, type));
        if (times.has_value()) all.push_back(*std::move(times));
      }
      if (all.empty() || all.size() < devices.size()) continue;
      KernelCurve curve = CurveOf(kind, type, all, join);
      if (const Accelerator* datasheet = devices.front().model->accelerator();
          datasheet != nullptr) {
        const DatasheetValue peak = PeakFlopsPerSecond(*datasheet, type);
        if (peak) curve.peak = FlopsPerSecond(peak.value);
      }
      out.push_back(std::move(curve));
    }
  }
  return out;
}

}  // namespace sextant
