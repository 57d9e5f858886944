// Kinds of servers, and networks, for people.
#ifndef SEXTANT_CLIENT_NODE_TYPES_TEXT_H_
#define SEXTANT_CLIENT_NODE_TYPES_TEXT_H_

#include <string>

#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// One a line.
std::string NodeTypeTable(const v1::ListNodeTypesResponse& response);

// Every figure of each, with its source; networks only beside several kinds of servers.
std::string NodeTypeSources(const v1::ListNodeTypesResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_NODE_TYPES_TEXT_H_
