#include "engine/tensor/strided_tensor.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"

namespace sextant {
namespace {

// The storage position of the last element.
CheckedInt LastPosition(const StridedTensor& tensor) {
  CheckedInt last = tensor.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    last = last + CheckedInt(tensor.shape[i] - 1) * tensor.strides[i];
  }
  return last;
}

void CheckStorage(const StridedTensor& tensor, absl::string_view path,
                  FieldViolations& violations) {
  const CheckedInt last = LastPosition(tensor);
  if (!last.ok()) {
    violations.Add(FieldPath(path, "strides"), "reach beyond 9.2e18 elements");
  } else if (last.value() >= tensor.storage_elements) {
    violations.Add(FieldPath(path, "storage_elements"),
                   absl::StrCat("must be more than ", last.value(),
                                ", the last position that shape, strides and offset reach, not ",
                                tensor.storage_elements));
  }
}

// `elements` elements, `spacing` apart.
struct Block {
  int64_t elements;
  int64_t spacing;
};

// The blocks of `tensor`, innermost first; one block of one element where it has one element.
absl::InlinedVector<Block, 6> BlocksOf(const StridedTensor& tensor) {
  absl::InlinedVector<Block, 6> blocks;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] == 1) continue;
    if (!blocks.empty() &&
        tensor.strides[i] == StrideBefore(blocks.back().elements, blocks.back().spacing)) {
      blocks.back().elements *= tensor.shape[i];
    } else {
      blocks.push_back({tensor.shape[i], tensor.strides[i]});
    }
  }
  if (blocks.empty()) blocks.push_back({1, 1});
  return blocks;
}

using AxisOrder = absl::InlinedVector<size_t, 6>;

// True where every storage position from the first element to the last has exactly one element.
bool IsDense(const StridedTensor& tensor) {
  AxisOrder order;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] != 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  int64_t expected = 1;
  for (const size_t axis : order) {
    if (tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

// The operand's stride along `axis` of the result, which has `axis_count` axes: 0 where it is
// stretched.
int64_t StrideAlong(const StridedTensor& operand, size_t axis, size_t axis_count) {
  const size_t missing = axis_count - operand.shape.size();
  if (axis < missing || operand.shape[axis - missing] == 1) return 0;
  return operand.strides[axis - missing];
}

// Above 0 where axis `a` must move outwards of axis `b`, below 0 where it must not, 0 where no
// operand decides. A stretched axis decides nothing.
int Compare(absl::Span<const int64_t> shape, absl::Span<const StridedTensor> operands, size_t a,
            size_t b) {
  for (const StridedTensor& operand : operands) {
    const int64_t stride_a = StrideAlong(operand, a, shape.size());
    const int64_t stride_b = StrideAlong(operand, b, shape.size());
    if (stride_a == 0 || stride_b == 0) continue;
    if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

}  // namespace

int64_t StridedTensor::element_count() const { return ElementCount(shape).value_or(0); }

StridedTensor ContiguousTensor(Shape shape, DataType data_type) {
  StridedTensor out = {.shape = std::move(shape), .data_type = data_type};
  out.strides = ContiguousStrides(out.shape);
  out.storage_elements = out.element_count();
  return out;
}

void CheckStridedTensor(const StridedTensor& tensor, absl::string_view path,
                        FieldViolations& violations) {
  FieldViolations found;
  CheckShape(tensor.shape, FieldPath(path, "shape"), found);
  if (tensor.strides.size() != tensor.shape.size()) {
    found.Add(FieldPath(path, "strides"), absl::StrCat("must be one an axis, ", tensor.shape.size(),
                                                       ", not ", tensor.strides.size()));
  }
  for (size_t i = 0; i < tensor.strides.size(); ++i) {
    if (tensor.strides[i] >= 0) continue;
    found.Add(absl::StrCat(FieldPath(path, "strides"), "[", i, "]"),
              absl::StrCat("must not be negative, and is ", tensor.strides[i]));
  }
  if (tensor.offset < 0) {
    found.Add(FieldPath(path, "offset_elements"),
              absl::StrCat("must not be negative, and is ", tensor.offset));
  }
  if (found.empty()) CheckStorage(tensor, path, found);
  violations.AddAll(found.ToStatus());
}

int64_t ReachedElements(const StridedTensor& tensor) { return LastPosition(tensor).value() + 1; }

bool IsContiguous(const StridedTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] == 1) continue;
    if (tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

absl::StatusOr<int64_t> FlatIndex(const StridedTensor& tensor, absl::Span<const int64_t> index) {
  if (index.size() != tensor.shape.size()) {
    return InvalidField("index", absl::StrCat("must have one entry an axis, ", tensor.shape.size(),
                                              ", not ", index.size()));
  }
  FieldViolations violations;
  int64_t position = tensor.offset;
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t size = tensor.shape[i];
    if (index[i] < -size || index[i] >= size) {
      violations.Add(absl::StrCat("index[", i, "]"),
                     absl::StrCat("must be ", -size, " to ", size - 1, " on an axis of size ", size,
                                  ", not ", index[i]));
      continue;
    }
    position += (index[i] < 0 ? index[i] + size : index[i]) * tensor.strides[i];
  }
  if (!violations.empty()) return violations.ToStatus();
  return position;
}

absl::optional<Strides> ViewStrides(const StridedTensor& tensor, absl::Span<const int64_t> shape) {
  const absl::InlinedVector<Block, 6> blocks = BlocksOf(tensor);
  Strides strides(shape.size(), 1);
  size_t block = 0;
  int64_t used = 1;  // elements of the block that the group's axes cover so far
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && used == blocks[block].elements) {
      ++block;
      used = 1;
    }
    strides[i] = StrideBefore(used, blocks[block].spacing);
    used *= shape[i];
    if (used > blocks[block].elements) return absl::nullopt;
  }
  return strides;
}

Strides ElementwiseStrides(absl::Span<const int64_t> shape,
                           absl::Span<const StridedTensor> operands) {
  if (operands.size() == 1 && IsDense(operands[0])) return operands[0].strides;
  AxisOrder order;  // innermost first
  for (size_t i = shape.size(); i-- > 0;) order.push_back(i);
  // Insertion sort, because the comparison is not a total order.
  for (size_t i = 1; i < order.size(); ++i) {
    size_t moving = i;
    for (size_t other = i; other-- > 0;) {
      const int comparison = Compare(shape, operands, order[other], order[moving]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[other], order[moving]);
      moving = other;
    }
  }
  Strides strides(shape.size(), 1);
  int64_t stride = 1;
  for (const size_t axis : order) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace sextant
