// How an einsum is contracted, for people.
#ifndef SEXTANT_CLIENT_EINSUM_TEXT_H_
#define SEXTANT_CLIENT_EINSUM_TEXT_H_

#include <string>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// A section with the result's shape, the axes, and the orders, each step by step. It starts with
// an empty line and its title, and is "" of other operations.
std::string EinsumSection(const v1::AnalyzeOperationResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_EINSUM_TEXT_H_
