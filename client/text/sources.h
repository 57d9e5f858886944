// The sources of an answer's figures, and the device whose rates they are, in words.
#ifndef SEXTANT_CLIENT_TEXT_SOURCES_H_
#define SEXTANT_CLIENT_TEXT_SOURCES_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>

#include "sextant/v1/operation_device.pb.h"
#include "sextant/v1/rates.pb.h"

namespace sextant::client {

// The sources of an answer.
using SourceList = google::protobuf::RepeatedPtrField<std::string>;

// The source of that number, from 1; "" for 0.
std::string SourceText(const SourceList& sources, int32_t number);

// The kind of source and the source itself: "reference, a table".
std::string SourceText(v1::RateSource kind, const SourceList& sources, int32_t number);

// The device of the rates; "a device of the given rates" where they name none.
std::string DeviceOf(const v1::OperationTime& time);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_TEXT_SOURCES_H_
