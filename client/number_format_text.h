// Number formats for people.
#ifndef SEXTANT_CLIENT_NUMBER_FORMAT_TEXT_H_
#define SEXTANT_CLIENT_NUMBER_FORMAT_TEXT_H_

#include <string>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// All formats, a line each layout.
std::string NumberFormatTable(const v1::ListDataTypesResponse& response);

// One format in full, and what the request's numbers became in it.
std::string NumberFormatText(const v1::DescribeDataTypeResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_NUMBER_FORMAT_TEXT_H_
