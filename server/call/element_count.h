// How much a request decodes to, found before it is decoded.
#ifndef SEXTANT_SERVER_CALL_ELEMENT_COUNT_H_
#define SEXTANT_SERVER_CALL_ELEMENT_COUNT_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace sextant::server {

// Requests up to this size are decoded without a look: they hold 8,192 elements at most.
inline constexpr size_t kUncountedBytes = 16'384;

// Messages, elements of lists and unknown fields of the largest request that is decoded. A message
// of two bytes takes 100 bytes and more once decoded, so that a request of 1 MiB would take
// hundreds.
inline constexpr int64_t kMaxElements = 65'536;

// The elements that `bytes`, a message of `type`, holds; those before the first fault where it is
// none. Stops above `limit`.
int64_t CountElements(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                      int64_t limit);

// kInvalidArgument with reason FIELD_INVALID above kMaxElements.
absl::Status CheckElements(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_ELEMENT_COUNT_H_
