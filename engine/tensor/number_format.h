// The number formats: layout, range, storage size and use.
#ifndef SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_
#define SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/float_layout.h"

namespace sextant {

enum class NumberKind {
  kFloat,
  kInteger,      // two's complement
  kBlockFloat,   // floats in blocks that share a scale
  kFloatFamily,  // a name that leaves the layout, or its scales, open
};

// The scale shared by a block of elements along a tensor's last axis.
struct BlockScale {
  int64_t block_size = 0;
  int scale_bits = 0;
  absl::string_view scale_name = "";              // "e8m0": a power of 2, only an exponent
  absl::optional<FloatLayout> scale_layout = {};  // absent: a power of 2
  double smallest_scale = 0;
  double largest_scale = 0;
  // True where the format has an fp32 scale per tensor: a separate tensor, not included in any
  // size of this format.
  bool has_tensor_scale = false;
};

struct NumberFormat {
  DataType type = DataType::kUnspecified;
  NumberKind kind = NumberKind::kFloat;
  // A float's layout, a block format's element, or every layout of a family; empty for integers.
  // Ranges are the element's own, at a block scale of 1.
  std::vector<FloatLayout> layouts = {};
  int bits = 0;         // of the layouts, or of the integer
  int stored_bits = 0;  // per element, without its share of a scale: tf32 takes 32
  absl::optional<BlockScale> block = {};
  OverflowRule overflow_rule = OverflowRule::kSaturating;  // the default
  absl::string_view overflow_reason = "";                  // why it is the default
  absl::string_view role = "";                             // what training uses it for
  absl::string_view note = "";                             // further remarks; may be empty
  absl::string_view source = "";                           // of the layout
};

// Bits per element in storage, including its share of the block's scale.
double StorageBits(const NumberFormat& format);

// The range of an integer format.
double LargestInteger(const NumberFormat& format);
double LowestInteger(const NumberFormat& format);

// All formats, in the order of DataType.
const std::vector<NumberFormat>& NumberFormats();

// Errors: kInvalidArgument "data_type" for kUnspecified.
absl::StatusOr<const NumberFormat*> FindNumberFormat(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_
