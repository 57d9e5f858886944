// Checks the numbers of requests by the options of their fields (field_options.proto).
#ifndef SEXTANT_PROTO_CHECK_NUMBER_LIMITS_H_
#define SEXTANT_PROTO_CHECK_NUMBER_LIMITS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/check/field_checker.h"

namespace sextant::check {

// The limits of all numbers of a type of message, and of messages below it. Made once for each
// kind of request; a check looks nothing up by name.
class NumberLimits {
 public:
  // `left_out` are fields, by their full names, that a request of this kind treats otherwise than
  // others with the same message: a message that is not looked into, a number that is not required.
  explicit NumberLimits(const google::protobuf::Descriptor& type,
                        std::initializer_list<absl::string_view> left_out = {});

  // Reports the numbers of `message`, of that type, that are missing or out of range, in the order
  // of declaration. NaN and infinities always are.
  void Check(const google::protobuf::Message& message, const MessagePath& path,
             FaultSink sink) const;

 private:
  enum class Kind { kWhole, kReal, kMessage, kMessages };

  struct Entry {
    const google::protobuf::FieldDescriptor* field = nullptr;
    Kind kind = Kind::kWhole;
    bool has_presence = false;
    bool required = false;
    int64_t low = 0;  // of a whole number, with `high`
    int64_t high = 0;
    RealRange range = {};                  // of a real number
    std::vector<NumberLimits> below = {};  // one, of a message
  };

  static void CheckWhole(const Entry& entry, const google::protobuf::Message& message,
                         const MessagePath& path, FaultSink sink);
  static void CheckReal(const Entry& entry, const google::protobuf::Message& message,
                        const MessagePath& path, FaultSink sink);

  std::vector<Entry> entries_;
};

}  // namespace sextant::check

#endif  // SEXTANT_PROTO_CHECK_NUMBER_LIMITS_H_
