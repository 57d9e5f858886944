// Number formats and rounded numbers, to the wire.
#ifndef SEXTANT_SERVER_CONVERT_NUMBER_FORMAT_H_
#define SEXTANT_SERVER_CONVERT_NUMBER_FORMAT_H_

#include "absl/status/status.h"
#include "engine/tensor/number_format.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/number_format.pb.h"

namespace sextant {

// What `format` holds, with the accelerators that have a peak in it.
void NumberFormatTo(const NumberFormat& format, v1::NumberFormat* out);

// The format that `request` names, and its values rounded.
//
// Errors: kInvalidArgument naming the request's fields, all that are at fault.
absl::Status DescribeDataTypeTo(const v1::DescribeDataTypeRequest& request,
                                v1::DescribeDataTypeResponse* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_NUMBER_FORMAT_H_
