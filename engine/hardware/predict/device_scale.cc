#include "engine/hardware/predict/device_scale.h"

#include <algorithm>

#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

struct Chip {
  absl::string_view product;
  absl::string_view published;
  Widening doubt = kSameChip;
};

// For 300 W in place of 400: published maxima of the A100's two forms are 252.9 and 271.2 TFLOP/s
// (achieved_fraction.cc), 7 % apart at equal peaks.
constexpr Widening kLessPower{.low = 0.97, .high = 1.15};

// 78 of the H100's 132 multiprocessors at 400 W: a seventh of its peak. An H100 reaches 0.80 of its
// own, since its power limits it (794.5 of 989.4 TFLOP/s); assumed: an H20 reaches between as much
// and all of its own, and waves on 78 units leave up to 15 % more of them idle.
constexpr Widening kFewerUnits{.low = 0.80, .high = 1.15};

// Chips by name: GA100, GH100, GB100 and GB102. An A800 and an H800 are an A100 and an H100 with
// fewer links (and of the latter with less fp64).
constexpr Chip kChips[] = {
    {"a100-sxm-40", "a100-sxm-80"},
    {"a800-sxm-80", "a100-sxm-80"},
    {"a800-pcie-80", "a100-sxm-80", kLessPower},
    {"h800-sxm", "h100-sxm"},
    {"h20", "h100-sxm", kFewerUnits},
    {"h20-141", "h200-sxm", kFewerUnits},
    {"gh200-96", "h100-sxm"},
    {"gh200-144", "h200-sxm"},
    {"b300-sxm", "b200-sxm"},
    {"gb200", "b200-sxm"},
    {"gb300", "b200-sxm"},
};

}  // namespace

KernelTime SameChip::Scaled(KernelTime time, double work_share) const {
  const double ratio = byte_ratio + (work_ratio - byte_ratio) * work_share;
  return Widened(time, ratio, doubt, KernelBasis::kOtherPass);
}

SameChip SameChipOf(const Accelerator& accelerator, DataType type) {
  for (const Chip& chip : kChips) {
    if (chip.product != accelerator.name) continue;
    const auto published = FindAccelerator(chip.published);
    if (!published.ok()) return {};
    const DatasheetValue own = PeakFlopsPerSecond(accelerator, type);
    const DatasheetValue other = PeakFlopsPerSecond(**published, type);
    const DatasheetValue& bandwidth = accelerator.memory_bandwidth_bytes_per_second;
    const DatasheetValue& others = (*published)->memory_bandwidth_bytes_per_second;
    if (!own || !other || !bandwidth || !others) return {};
    return {.published = *published,
            .work_ratio = other.value / own.value,
            .byte_ratio = others.value / bandwidth.value,
            .doubt = chip.doubt};
  }
  return {};
}

}  // namespace sextant
