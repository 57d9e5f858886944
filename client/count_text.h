// What a model has, for people.
#ifndef SEXTANT_CLIENT_COUNT_TEXT_H_
#define SEXTANT_CLIENT_COUNT_TEXT_H_

#include <string>

#include "client/count_request.h"

namespace sextant {

// The sums first, then components and layers; FLOPs, stages and tensors where `response`, the
// answer to `command`, holds them.
std::string CountText(const CountCommand& command, const v1::CountModelResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_COUNT_TEXT_H_
