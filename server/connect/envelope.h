// Messages of a stream, each in its envelope: a byte of flags, four of its length, the message.
#ifndef SEXTANT_SERVER_CONNECT_ENVELOPE_H_
#define SEXTANT_SERVER_CONNECT_ENVELOPE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// Source: the Connect protocol, "Enveloped-Message" and "EndStreamResponse".
enum class EnvelopeFlags : uint8_t { kMessage = 0, kEnd = 2 };

std::string Enveloped(EnvelopeFlags flags, absl::string_view message);

// The one message in `body`, a request to a method that takes one; `body` has to outlive it.
//
// Errors: kInvalidArgument with reason FIELD_INVALID.
absl::StatusOr<absl::string_view> MessageIn(absl::string_view body);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_ENVELOPE_H_
