// The short of a calibration.
#ifndef SEXTANT_CLIENT_BEST_RATES_H_
#define SEXTANT_CLIENT_BEST_RATES_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// The best rate of each kind: the highest, but a stable one before one that is not, unless it
// is more than 10 % slower; of matrix multiplications none whose shape was asked for. Starts with
// an empty line and its title, and is "" where the calibration has no such rate.
std::string BestSection(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_BEST_RATES_H_
