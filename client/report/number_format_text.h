// Number formats for people.
#ifndef SEXTANT_CLIENT_REPORT_NUMBER_FORMAT_TEXT_H_
#define SEXTANT_CLIENT_REPORT_NUMBER_FORMAT_TEXT_H_

#include <string>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant::client {

// All formats, one layout a line.
std::string NumberFormatTable(const v1::ListDataTypesResponse& response);

// One format in full, and the request's numbers rounded to it.
std::string NumberFormatText(const v1::DescribeDataTypeResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_NUMBER_FORMAT_TEXT_H_
