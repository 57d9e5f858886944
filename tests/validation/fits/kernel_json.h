// Kernels' shapes and times in JSON: a shape is an array of its sizes, a point [shape, seconds], a
// predicted time [expected, low, high].
#ifndef SEXTANT_TESTS_VALIDATION_FITS_KERNEL_JSON_H_
#define SEXTANT_TESTS_VALIDATION_FITS_KERNEL_JSON_H_

#include <nlohmann/json.hpp>

#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/grouped_matmul_model.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_calibration.h"

namespace sextant {

// [m, n, k]
inline void from_json(const nlohmann::json& in, MatmulShape& out) {
  out = {.m = in.at(0), .n = in.at(1), .k = in.at(2)};
}
inline void to_json(nlohmann::json& out, const MatmulShape& shape) {
  out = {shape.m, shape.n, shape.k};
}

// [batch, tokens, heads, key and value heads, head size of keys, of values, causal, window]
inline void from_json(const nlohmann::json& in, AttentionShape& out) {
  out = {.batch = in.at(0),
         .sequence = in.at(1),
         .heads = in.at(2),
         .key_value_heads = in.at(3),
         .query_key_head_size = in.at(4),
         .value_head_size = in.at(5),
         .causal = in.at(6).get<int>() != 0,
         .window = in.at(7)};
}
inline void to_json(nlohmann::json& out, const AttentionShape& shape) {
  out = {shape.batch,
         shape.sequence,
         shape.heads,
         shape.key_value_heads,
         shape.query_key_head_size,
         shape.value_head_size,
         shape.causal ? 1 : 0,
         shape.window};
}

// [tokens, hidden, intermediate, experts per token, experts, devices that share them, gated]
inline void from_json(const nlohmann::json& in, GroupedMatmulShape& out) {
  out = {.tokens = in.at(0),
         .hidden = in.at(1),
         .intermediate = in.at(2),
         .experts_per_token = in.at(3),
         .experts = in.at(4),
         .expert_parallel = in.at(5),
         .gated = in.at(6).get<int>() != 0};
}
inline void to_json(nlohmann::json& out, const GroupedMatmulShape& shape) {
  out = {shape.tokens,  shape.hidden,          shape.intermediate, shape.experts_per_token,
         shape.experts, shape.expert_parallel, shape.gated ? 1 : 0};
}

template <typename Point>
void ReadPoint(const nlohmann::json& in, Point& out) {
  in.at(0).get_to(out.shape);
  out.time = Seconds(in.at(1).get<double>());
}
inline void from_json(const nlohmann::json& in, MatmulPoint& out) { ReadPoint(in, out); }
inline void from_json(const nlohmann::json& in, AttentionPoint& out) { ReadPoint(in, out); }
inline void from_json(const nlohmann::json& in, GroupedMatmulPoint& out) { ReadPoint(in, out); }
inline void to_json(nlohmann::json& out, const MatmulPoint& point) {
  out = {point.shape, point.time.value()};
}
inline void to_json(nlohmann::json& out, const AttentionPoint& point) {
  out = {point.shape, point.time.value()};
}
inline void to_json(nlohmann::json& out, const GroupedMatmulPoint& point) {
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
