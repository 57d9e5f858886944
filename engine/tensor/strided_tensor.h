// A tensor as PyTorch and NumPy keep it: a shape and strides over a flat storage.
#ifndef SEXTANT_ENGINE_TENSOR_STRIDED_TENSOR_H_
#define SEXTANT_ENGINE_TENSOR_STRIDED_TENSOR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/shape.h"

namespace sextant {

// Element [i, j, ...] is at storage position offset + i x strides[0] + j x strides[1] + ...
// All but the data type count in elements.
struct StridedTensor {
  Shape shape = {};
  Strides strides = {};  // not negative; 0 repeats one element along the axis
  int64_t offset = 0;
  int64_t storage_elements = 0;  // of the whole storage, which views share
  DataType data_type = DataType::kUnspecified;

  // Elements of the shape; more than the storage has where an axis repeats.
  int64_t element_count() const;
};

// A row-major tensor with a storage of its own. CheckShape() has passed `shape`.
StridedTensor ContiguousTensor(Shape shape, DataType data_type);

// Adds what is wrong with a caller's tensor: its shape, as many strides as axes, none negative,
// no element outside the storage.
void CheckStridedTensor(const StridedTensor& tensor, absl::string_view path,
                        FieldViolations& violations);

// Elements of the smallest storage that holds the tensor. CheckStridedTensor() has passed it.
int64_t ReachedElements(const StridedTensor& tensor);

// Whether the elements lie in row-major order without gaps. Axes of size 1 do not count: no
// index steps along them, so that their strides say nothing.
// Source: PyTorch, torch.Tensor.is_contiguous.
bool IsContiguous(const StridedTensor& tensor);

// The storage position of the element at `index`; an index below 0 counts from the axis's end.
//
// Errors: kInvalidArgument "index" where it has not one entry an axis, "index[i]" where an
// entry is outside its axis.
absl::StatusOr<int64_t> FlatIndex(const StridedTensor& tensor, absl::Span<const int64_t> index);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_STRIDED_TENSOR_H_
