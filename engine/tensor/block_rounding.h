// Rounding to formats whose elements share a scale within a block.
#ifndef SEXTANT_ENGINE_TENSOR_BLOCK_ROUNDING_H_
#define SEXTANT_ENGINE_TENSOR_BLOCK_ROUNDING_H_

#include "engine/tensor/number_format.h"

namespace sextant {

// The scale of a block whose largest magnitude is `maximum` (not negative), the tensor's
// own scale being 1; NaN in a block of NaN. `format` is a block format.
//
//   e8m0 (mxfp8, mxfp4)  2^(floor(log2 maximum) - largest exponent of the element), at least
//                        2^-127; NaN past 2^127, and the whole block with it
//   e4m3 (nvfp4)         maximum / largest element, rounded to e4m3, saturating
//
// The first leaves the top of a block to be clamped: 7.9 has scale 1 in mxfp4, whose largest
// element is 6. The second can round to 0: the tensor's scale is there to prevent it.
//
// Source: OCP MX v1.0 section 6.3; both ends of e8m0 as in microsoft/microxcaling
// @3b429a84b2fb, mx/mx_ops.py. NVIDIA, Transformer Engine documentation of NVFP4.
double BlockScaleFor(const NumberFormat& format, double maximum);

// `value` rounded within a block of that `scale`: the element nearest to value / scale, times
// the scale. Elements saturate.
FloatRounding RoundInBlock(const NumberFormat& format, double value, double scale);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_BLOCK_ROUNDING_H_
