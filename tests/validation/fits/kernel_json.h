// Kernels' shapes and times in JSON: a shape is an array of its sizes, a point [shape, seconds], a
// predicted time [expected, low, high].
#ifndef SEXTANT_TESTS_VALIDATION_FITS_KERNEL_JSON_H_
#define SEXTANT_TESTS_VALIDATION_FITS_KERNEL_JSON_H_

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/grouped_matmul_model.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_calibration.h"

namespace sextant {

// The sizes of a shape, in the order of its array.
template <typename Shape>
inline constexpr bool kSizes = false;
template <>
inline constexpr auto kSizes<MatmulShape> = std::tuple(&MatmulShape::m, &MatmulShape::n,
                                                       &MatmulShape::k);
template <>
inline constexpr auto kSizes<AttentionShape> =
    std::tuple(&AttentionShape::batch, &AttentionShape::sequence, &AttentionShape::heads,
               &AttentionShape::key_value_heads, &AttentionShape::query_key_head_size,
               &AttentionShape::value_head_size, &AttentionShape::causal, &AttentionShape::window);
template <>
inline constexpr auto kSizes<GroupedMatmulShape> = std::tuple(
    &GroupedMatmulShape::tokens, &GroupedMatmulShape::hidden, &GroupedMatmulShape::intermediate,
    &GroupedMatmulShape::experts_per_token, &GroupedMatmulShape::experts,
    &GroupedMatmulShape::expert_parallel, &GroupedMatmulShape::gated);

template <typename Shape>
concept KernelShape = !std::same_as<decltype(kSizes<Shape>), const bool>;
template <typename Point>
concept KernelPoint = KernelShape<decltype(Point::shape)>;

template <KernelShape Shape>
void from_json(const nlohmann::json& in, Shape& out) {
  size_t at = 0;
  const auto read = [&]<typename Size>(Size Shape::*const size) {
    out.*size = static_cast<Size>(in.at(at++).get<int64_t>());
  };
  std::apply([&](const auto... size) { (read(size), ...); }, kSizes<Shape>);
}
template <KernelShape Shape>
void to_json(nlohmann::json& out, const Shape& shape) {
  const auto array = [&](const auto... size) {
    return nlohmann::json::array({int64_t{shape.*size}...});
  };
  out = std::apply(array, kSizes<Shape>);
}

template <KernelPoint Point>
void from_json(const nlohmann::json& in, Point& out) {
  in.at(0).get_to(out.shape);
  out.time = Seconds(in.at(1).get<double>());
}
template <KernelPoint Point>
void to_json(nlohmann::json& out, const Point& point) {
  out = {point.shape, point.time.value()};
}

inline void to_json(nlohmann::json& out, const KernelTime& time) {
  out = {time.expected.value(), time.low.value(), time.high.value()};
}
// [10th percentile, median, 90th percentile] of measured over predicted time.
inline void to_json(nlohmann::json& out, const PredictionError& error) {
  out = {error.p10, error.median, error.p90};
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FITS_KERNEL_JSON_H_
