// Times that a plan's operations get, one by one.
#ifndef SEXTANT_TESTS_VALIDATION_FITS_OPERATOR_TIMES_H_
#define SEXTANT_TESTS_VALIDATION_FITS_OPERATOR_TIMES_H_

#include <nlohmann/json.hpp>

namespace sextant {

// {gpu, operators: [[kernel, pass, sizes a to f]]}: the time of each in bf16, as in
// tests/golden/training_operators.csv. A gradient of weights has its addition to fp32 numbers by
// the product's epilogue.
nlohmann::json OperatorTimes(const nlohmann::json& question);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FITS_OPERATOR_TIMES_H_
