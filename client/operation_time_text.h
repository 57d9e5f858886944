// An operation's times on a device, for people.
#ifndef SEXTANT_CLIENT_OPERATION_TIME_TEXT_H_
#define SEXTANT_CLIENT_OPERATION_TIME_TEXT_H_

#include <string>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// The device that the rates are of; "a device of the given rates" where they name none.
std::string DeviceOf(const v1::OperationTime& time);

// "8.92 ms on h100-sxm, compute-bound, 99.80 % of peak".
std::string TimeSummary(const v1::OperationTime& time);

// Sections. Each starts with an empty line and its title, and is "" where the answer has nothing
// for it.
//
// Both roofs, the ridge and the times: forward, unfused and backward side by side.
std::string TimeSection(const v1::AnalyzeOperationResponse& response);

// What the achieved time says.
std::string UtilisationSection(const v1::AnalyzeOperationResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_OPERATION_TIME_TEXT_H_
