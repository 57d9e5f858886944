// What an answer stands on: rates with their sources, and assumptions.
#ifndef SEXTANT_CLIENT_RATES_TEXT_H_
#define SEXTANT_CLIENT_RATES_TEXT_H_

#include <google/protobuf/repeated_field.h>

#include <string>

#include "absl/time/time.h"
#include "sextant/v1/rates.pb.h"

namespace sextant {

using Rates = google::protobuf::RepeatedPtrField<v1::RateUsed>;

// A section "Rates used"; "" where there are none. `now` is for the ages of measurements.
std::string RatesText(const Rates& rates, absl::Time now);

// A section "Assumptions"; "" where there are none.
std::string AssumptionsText(const google::protobuf::RepeatedPtrField<std::string>& assumptions);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_RATES_TEXT_H_
