#include "server/call/element_count.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"

namespace sextant::server {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::internal::WireFormatLite;
using ::google::protobuf::io::CodedInputStream;

// As protobuf's own parser has it.
constexpr int kMaxDepth = 100;

class Counter {
 public:
  Counter(CodedInputStream& in, int64_t limit) : in_(in), limit_(limit) {}

  // Counts a message up to the stream's limit; false where counting ends.
  bool Count(const Descriptor& type, int depth) {
    while (const uint32_t tag = in_.ReadTag()) {
      const FieldDescriptor* const field =
          type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const bool is_bytes =
          WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
      const bool is_packed = field != nullptr && is_bytes && field->is_packable();
      const bool is_counted = field == nullptr || (field->is_repeated() && !is_packed);
      if (is_counted && ++count_ > limit_) return false;
      if (is_bytes && field != nullptr ? !CountBytes(*field, depth)
                                       : !WireFormatLite::SkipField(&in_, tag)) {
        return false;
      }
    }
    return true;
  }

  int64_t count() const { return count_; }

 private:
  // Counts what a field of bytes holds: a message, a text, or a list of numbers.
  bool CountBytes(const FieldDescriptor& field, int depth) {
    uint32_t size = 0;
    if (!in_.ReadVarint32(&size)) return false;
    if (field.type() != FieldDescriptor::TYPE_MESSAGE) {
      // A number has a byte at least.
      if (field.is_packable() && (count_ += size) > limit_) return false;
      return in_.Skip(static_cast<int>(size));
    }
    if (depth == kMaxDepth || (!field.is_repeated() && ++count_ > limit_)) return false;
    const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(size));
    const bool goes_on = Count(*field.message_type(), depth + 1);
    in_.PopLimit(outer);
    return goes_on;
  }

  CodedInputStream& in_;
  const int64_t limit_;
  int64_t count_ = 0;
};

}  // namespace

int64_t CountElements(const grpc::ByteBuffer& bytes, const Descriptor& type, int64_t limit) {
  grpc::ByteBuffer shared(bytes);
  grpc::ProtoBufferReader reader(&shared);
  CodedInputStream in(&reader);
  Counter counter(in, limit);
  counter.Count(type, 0);
  return counter.count();
}

absl::Status CheckElements(const grpc::ByteBuffer& bytes, const Descriptor& type) {
  if (CountElements(bytes, type, kMaxElements) <= kMaxElements) return absl::OkStatus();
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "the request holds more than ", kMaxElements,
                        " messages and elements of lists: send fewer operations, runs or "
                        "measured points in one call")),
                    "FIELD_INVALID");
}

}  // namespace sextant::server
