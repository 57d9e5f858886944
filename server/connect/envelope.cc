#include "server/connect/envelope.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"

namespace sextant::server {
namespace {

constexpr size_t kPrefixBytes = 5;

absl::Status BadEnvelope(absl::string_view what) {
  return InvalidField("request",
                      absl::StrCat(what,
                                   ": send one message in one envelope: a byte that is 0, four of "
                                   "its length with the highest first, the message"));
}

// The prefix's last four bytes, as a number.
size_t LengthIn(absl::string_view prefix) {
  size_t out = 0;
  for (const char byte : prefix.substr(1, kPrefixBytes - 1)) {
    out = (out << 8) | static_cast<unsigned char>(byte);
  }
  return out;
}

}  // namespace

std::string Enveloped(EnvelopeFlags flags, absl::string_view message) {
  std::string out;
  out.reserve(kPrefixBytes + message.size());
  out.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) {
    out.push_back(static_cast<char>((message.size() >> shift) & 0xff));
  }
  out.append(message.data(), message.size());
  return out;
}

absl::StatusOr<absl::string_view> MessageIn(absl::string_view body) {
  if (body.empty()) return BadEnvelope("there is no message");
  if (body.size() < kPrefixBytes) return BadEnvelope("it ends within the first five bytes");
  if (body[0] != static_cast<char>(EnvelopeFlags::kMessage)) {
    return BadEnvelope(absl::StrCat("the envelope's flags are ",
                                    static_cast<int>(static_cast<unsigned char>(body[0]))));
  }
  const size_t length = LengthIn(body);
  const absl::string_view message = body.substr(kPrefixBytes);
  if (length > message.size()) {
    return BadEnvelope(
        absl::StrCat("the envelope announces ", length, " bytes, and ", message.size(), " came"));
  }
  if (length < message.size()) return BadEnvelope("there is more after the first message");
  return message;
}

}  // namespace sextant::server
