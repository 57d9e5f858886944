// Times of exchanges for people.
#ifndef SEXTANT_CLIENT_LINK_TIMES_TEXT_H_
#define SEXTANT_CLIENT_LINK_TIMES_TEXT_H_

#include <string>

#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// A picture of bus bandwidth, a table an operation, and what they stand on.
std::string LinkTimesText(const v1::GetLinkTimesResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_LINK_TIMES_TEXT_H_
