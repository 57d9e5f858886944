// Number formats and rounded numbers, to the wire.
#ifndef SEXTANT_SERVER_CONVERT_NUMBER_FORMAT_H_
#define SEXTANT_SERVER_CONVERT_NUMBER_FORMAT_H_

#include "engine/tensor/number_format.h"
#include "engine/tensor/rounding.h"
#include "server/convert/enum_pair.h"
#include "sextant/v1/number_format.pb.h"

namespace sextant::server {

using OverflowRulePair = OneLater<OverflowRule::kNonSaturating, v1::OverflowRule_MAX>;

// Writes the properties of `format` and the accelerators that have a peak in it.
void NumberFormatTo(const NumberFormat& format, v1::NumberFormat* out);

// Writes `rounded`, the result of rounding `given` to `format`.
void RoundedNumberTo(const NumberFormat& format, double given, const RoundedValue& rounded,
                     v1::RoundedNumber* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_NUMBER_FORMAT_H_
