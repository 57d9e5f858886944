// What each number format is: its layout, its range, what it takes in storage, what it is for.
#ifndef SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_
#define SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/float_rounding.h"

namespace sextant {

enum class NumberKind {
  kFloat,
  kInteger,      // two's complement
  kBlockFloat,   // floats of which a block shares a scale
  kFloatFamily,  // a name that leaves open which of several layouts is meant, or its scales
};

// The scale that a block of elements along a tensor's last axis shares.
struct BlockScale {
  int64_t block_size = 0;
  int scale_bits = 0;
  absl::string_view scale_name = "";              // "e8m0": a power of 2, an exponent alone
  absl::optional<FloatLayout> scale_layout = {};  // absent: a power of 2
  double smallest_scale = 0;
  double largest_scale = 0;
  // The fp32 scale of the whole tensor, where the format has one: a tensor of its own, in no
  // size that is given for this format.
  bool has_tensor_scale = false;
};

struct NumberFormat {
  DataType type = DataType::kUnspecified;
  NumberKind kind = NumberKind::kFloat;
  // A float's layout, a block format's element, all that a family's name may mean; empty for
  // integers. Ranges are the element's own, at a block scale of 1.
  std::vector<FloatLayout> layouts = {};
  int bits = 0;         // of the layouts, or of the integer
  int stored_bits = 0;  // that one element takes without its share of a scale: tf32 takes 32
  absl::optional<BlockScale> block = {};
  OverflowRule overflow_rule = OverflowRule::kSaturating;  // unless another is asked for
  absl::string_view overflow_reason = "";                  // why this one
  absl::string_view role = "";                             // what training uses it for
  absl::string_view note = "";                             // what else to know; may be empty
  absl::string_view source = "";                           // of the layout
};

// Bits that one element takes in storage, with its share of its block's scale.
double StorageBits(const NumberFormat& format);

// Of an integer format.
double LargestInteger(const NumberFormat& format);
double LowestInteger(const NumberFormat& format);

// All formats, in the order of DataType.
const std::vector<NumberFormat>& NumberFormats();

// Errors: kInvalidArgument "data_type" for kUnspecified.
absl::StatusOr<const NumberFormat*> FindNumberFormat(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_
