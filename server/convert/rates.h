// A figure of the hardware, to the wire.
#ifndef SEXTANT_SERVER_CONVERT_RATES_H_
#define SEXTANT_SERVER_CONVERT_RATES_H_

#include "engine/hardware/rates.h"
#include "sextant/v1/rates.pb.h"

namespace sextant {

// Fills `out`, which is empty. The rate's citation moves into it.
void RateTo(Rate rate, v1::RateUsed* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_RATES_H_
