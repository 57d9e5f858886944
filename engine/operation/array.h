// The arrays that an operation reads and writes.
#ifndef SEXTANT_ENGINE_OPERATION_ARRAY_H_
#define SEXTANT_ENGINE_OPERATION_ARRAY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/shape.h"

namespace sextant {

enum class ArrayRole {
  kInput,
  kParameter,
  kOutput,
  kStatistic,  // made by the forward pass for the backward pass alone
  kGradient,
  kScratch,  // between two steps: a fused kernel never moves it
  kState,    // an optimizer's
};

struct Array {
  std::string name;
  ArrayRole role = ArrayRole::kInput;
  DataType data_type = DataType::kUnspecified;
  Shape shape;
  // Bytes of an element that is no number of a format: 8 of a token's id (int64), 1 of a
  // mask; 0 where data_type says.
  int64_t index_bytes = 0;
};

// Errors: kInvalidArgument "shape" where there are more than 9.2e18 elements or bytes, with
// the array's name.
absl::StatusOr<int64_t> ElementsOf(const Array& array);
absl::StatusOr<Bytes> BytesOf(const Array& array);

// "x [4, 8] fp32".
std::string TextOf(const Array& array);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_ARRAY_H_
