#include "engine/hardware/predict/sustained_rate.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/ceiling_time.h"

namespace sextant {
namespace {

struct Factors {
  double low;
  double expected;
  double high;
};

// The factors of one product, by the bits of the operands. All but the citations' figures are
// round.
struct Stated {
  absl::string_view accelerator;  // the catalogue's name
  Factors wide;                   // 16 bits and more
  Factors of_8_bits;
  Factors of_4_bits;
  absl::string_view citation;
};

constexpr absl::string_view kAmpere =
    "published training runs of an A100 reach the bursts' rates but for a few percent: 400 W "
    "hardly "
    "throttle its products";
constexpr absl::string_view kHopper =
    "long searches over best bursts of an H100 in bf16, 0.80 over 0.87 of its peak "
    "(stas00/ml-engineering, published tables); training in fp8 slows down alike";
constexpr absl::string_view kGrace =
    "published training steps of it (Megatron-Bridge) over bursts of a B200 scaled by the peaks, "
    "whose library has faster products of few bits since";
constexpr absl::string_view kUltra =
    "published training steps of a GB300 (Megatron-Bridge) over bursts of a B200 scaled by the "
    "peaks: 1,400 W instead of 1,000 to 1,200";

// A high end is that of the lower rates among an entry's sources, or the expected loss twice; a low
// end that of the higher rates, or half of the loss.
constexpr Stated kSustained[] = {
    {"a100-sxm-40", {1.0, 1.05, 1.1}, {1.0, 1.05, 1.1}, {1.0, 1.05, 1.1}, kAmpere},
    {"a100-sxm-80", {1.0, 1.05, 1.1}, {1.0, 1.05, 1.1}, {1.0, 1.05, 1.1}, kAmpere},
    {"a800-sxm-80", {1.0, 1.05, 1.1}, {1.0, 1.05, 1.1}, {1.0, 1.05, 1.1}, kAmpere},
    {"h100-sxm", {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, kHopper},
    {"h800-sxm", {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, kHopper},
    {"h200-sxm", {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, kHopper},
    {"gh200-96", {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, kHopper},
    {"gh200-144", {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, {1.05, 1.1, 1.2}, kHopper},
    {"b200-sxm",
     {1.3, 1.5, 1.65},
     {1.1, 1.2, 1.4},
     {1.0, 1.0, 1.2},
     "a published file of operators measured in a row (MooreThreads/SimuMax, b200_bf16) over "
     "published bursts, 1.3 to 1.5 in bf16; in fewer bits as a GB200's"},
    {"gb200", {1.15, 1.25, 1.4}, {1.0, 1.1, 1.3}, {0.8, 0.9, 1.2}, kGrace},
    {"b300-sxm", {0.95, 1.0, 1.2}, {0.75, 0.85, 1.1}, {0.75, 0.85, 1.2}, kUltra},
    {"gb300", {0.95, 1.0, 1.2}, {0.75, 0.85, 1.1}, {0.75, 0.85, 1.2}, kUltra},
};

constexpr Stated kOfAnyOther = {
    "",
    {1.0, kNeutralDerating, 1.5},
    {1.0, kNeutralDerating, 1.5},
    {1.0, kNeutralDerating, 1.5},
    "long searches over best bursts of an H100 in bf16 (stas00/ml-engineering, published tables), "
    "up to what a B200 loses: none is known of this product"};

Factors Stated::*FactorsOf(DataType type) {
  switch (type) {
    case DataType::kFp4:
    case DataType::kMxfp4:
    case DataType::kNvfp4:
    case DataType::kInt4:
      return &Stated::of_4_bits;
    default:
      return IsNarrow(type) ? &Stated::of_8_bits : &Stated::wide;
  }
}

// The burst time of the shape, measured or predicted; absent where neither is known.
absl::StatusOr<absl::optional<Seconds>> BurstTime(const MeasuredKernels& measured, DataType type,
                                                  const MatmulShape& shape,
                                                  MatmulsOfDevice matmuls) {
  for (const MeasuredMatmulPoints& of_type : measured.matmuls) {
    if (of_type.data_type != type) continue;
    for (const MatmulPoint& matmul : of_type.matmuls) {
      if (matmul.shape == shape) return absl::make_optional(matmul.time);
    }
  }
  SEXTANT_ASSIGN_OR_RETURN(const absl::optional<MatmulPredictor> predictor,
                           matmuls({type, UsualMatmulType(type).scaling}));
  absl::optional<Seconds> out;
  if (predictor.has_value()) out = predictor->Predict(shape).expected;
  return out;
}

}  // namespace

Derating DeratingOfUnmeasured(const Accelerator* accelerator, DataType type) {
  const Stated* stated = &kOfAnyOther;
  for (const Stated& each : kSustained) {
    if (accelerator != nullptr && each.accelerator == accelerator->name) stated = &each;
  }
  const Factors& factors = stated->*FactorsOf(type);
  return {.low = factors.low,
          .expected = factors.expected,
          .high = factors.high,
          .citation = std::string(stated->citation)};
}

absl::StatusOr<Derating> DeratingOfMeasured(const MeasuredKernels& measured, DataType type,
                                            MatmulsOfDevice matmuls) {
  const MeasuredMatmul* const matmul = measured.calibration->MatmulIn(type);
  if (matmul == nullptr || !matmul->sustained) {
    if (!measured.calibration->processor)
      return DeratingOfUnmeasured(measured.calibration->accelerator, type);
    return Derating{.citation =
                        "a processor's grids are measured for seconds: they are not bursts"};
  }
  const MatmulShape shape = {matmul->m, matmul->n, matmul->k};
  SEXTANT_ASSIGN_OR_RETURN(const absl::optional<Seconds> burst,
                           BurstTime(measured, type, shape, matmuls));
  if (!burst.has_value()) return DeratingOfUnmeasured(measured.calibration->accelerator, type);
  const double sustained = (MatmulFlops(shape) / matmul->rate).value();
  const double factor = std::max(1.0, sustained / burst->value());
  return Derating{.low = factor,
                  .expected = factor,
                  .high = factor,
                  .citation = absl::StrCat("measured, ", matmul->m, "x", matmul->n, "x", matmul->k,
                                           " without a pause against a burst of it")};
}

KernelTime Sustained(const KernelTime& burst, const Derating& derating, double work_share) {
  if (burst.expected <= Seconds(0)) return burst;
  const auto factor = [work_share](double stated) { return 1 + (stated - 1) * work_share; };
  const double expected = factor(derating.expected);
  // Squares of ratios neither overflow nor vanish, so std::hypot(), which is slower, is not needed.
  const auto both = [](double a, double b) { return std::sqrt(a * a + b * b); };
  const double below =
      both(1 - burst.low.value() / burst.expected.value(), 1 - factor(derating.low) / expected);
  const double above =
      both(burst.high.value() / burst.expected.value() - 1, factor(derating.high) / expected - 1);
  const Seconds time = burst.expected * expected;
  return {.expected = time,
          .low = std::max(time * (1 - below), burst.low),
          .high = time * (1 + above),
          .basis = burst.basis};
}

Derating DeratingOfAttention(Derating of_products) {
  of_products.expected = std::min(of_products.expected, kNeutralDerating);
  of_products.low = 1;
  return of_products;
}

}  // namespace sextant
