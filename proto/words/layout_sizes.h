// The sizes of a layout, with the API's defaults where a request leaves them out.
#ifndef SEXTANT_PROTO_WORDS_LAYOUT_SIZES_H_
#define SEXTANT_PROTO_WORDS_LAYOUT_SIZES_H_

#include <cstdint>

#include "sextant/v1/layout.pb.h"

namespace sextant::words {

struct LayoutSizes {
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t virtual_stages = 1;
  int64_t context = 1;
  int64_t expert = 1;
  int64_t expert_tensor = 0;  // 0: as tensor
  int64_t micro_batch = 1;
};

// A size below 1, which the server refuses, is as one that is left out.
LayoutSizes SizesOf(const v1::RunLayout& layout);

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_LAYOUT_SIZES_H_
