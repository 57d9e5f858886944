// Questions about kernel times that need the engine's models: fits to chosen points, and the
// published points that the engine has.
#ifndef SEXTANT_TESTS_VALIDATION_FITS_KERNEL_QUESTIONS_H_
#define SEXTANT_TESTS_VALIDATION_FITS_KERNEL_QUESTIONS_H_

#include <nlohmann/json.hpp>

namespace sextant {

// Questions name a GPU as the catalogue does and a type as the published tables do ("fp8_block").
// kernel_json.h has the form of shapes, points and times. Answers are null where the engine has
// none, and {"error": text} where a model refuses its points.

// {gpu, type}: what is known of the device. "ceilings" are [FLOP/s, bytes/s, seconds] that kernels
// reach.
nlohmann::json DeviceFacts(const nlohmann::json& question);

// {type}: the errors that the engine states, by what times stand on.
nlohmann::json StatedErrors(const nlohmann::json& question);

// {gpu, type, points, choose, shapes, others: [{type, peak_ratio, shapes}]}: times by a model of
// `points`, or of those of the standard grid among them (`choose`); `others` are times in types
// that were not measured.
nlohmann::json MatmulTimes(const nlohmann::json& question);

// {gpu, points, shapes}: times by a model of `points`.
nlohmann::json AttentionTimes(const nlohmann::json& question);
// {points, shapes}
nlohmann::json ExpertTimes(const nlohmann::json& question);

// {shapes}: amounts of work, and positions in the space of shapes.
nlohmann::json AttentionWorks(const nlohmann::json& question);
nlohmann::json ExpertWorks(const nlohmann::json& question);

// {gpu, type, gated, products: [[experts, rows per expert, n, k]]}: seconds of each, and the factor
// on dense products that they include.
nlohmann::json ExpertProducts(const nlohmann::json& question);

// {gpu, op, points: [[ranks, bytes, seconds]] or null for the published ones, calls: [[ranks,
// bytes]]}: "times", each null where the model has none, and seconds at the link's rate.
nlohmann::json CollectiveTimes(const nlohmann::json& question);

// {gpu, type}: points and checks. {gpu, type, latent}, {gpu, type, gated}: points and the kernel.
// {gpu}: sizes, version and node of the published collectives.
nlohmann::json MatmulReference(const nlohmann::json& question);
nlohmann::json AttentionReferenceOf(const nlohmann::json& question);
nlohmann::json ExpertReference(const nlohmann::json& question);
nlohmann::json CollectiveReference(const nlohmann::json& question);

// {gpu, operators: [[kernel, pass, sizes a to f]]}: the time of each in bf16 as plans have it, as
// in tests/golden/training_operators.csv. A gradient of weights has its addition to fp32 numbers by
// the product's epilogue.
nlohmann::json OperatorTimes(const nlohmann::json& question);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FITS_KERNEL_QUESTIONS_H_
