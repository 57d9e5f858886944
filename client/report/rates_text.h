// The basis of an answer, for people: rates with their sources, assumptions, and fields of a
// config.json that were not read. Sections start with an empty line and their title, and are ""
// where there is nothing to show.
#ifndef SEXTANT_CLIENT_REPORT_RATES_TEXT_H_
#define SEXTANT_CLIENT_REPORT_RATES_TEXT_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "absl/time/time.h"
#include "sextant/v1/rates.pb.h"

namespace sextant::client {

// Each rate with its source; below a measured one its spread, its device, and its age at `now`.
std::string RatesText(const google::protobuf::RepeatedPtrField<v1::RateUsed>& rates,
                      absl::Time now);

std::string AssumptionsText(const google::protobuf::RepeatedPtrField<std::string>& assumptions);

// The fields of a config.json that were not read.
std::string IgnoredFieldsSection(const google::protobuf::RepeatedPtrField<std::string>& fields);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_RATES_TEXT_H_
