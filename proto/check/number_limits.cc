#include "proto/check/number_limits.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sextant/v1/field_options.pb.h"

namespace sextant::check {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

}  // namespace

NumberLimits::NumberLimits(const google::protobuf::Descriptor& type,
                           std::initializer_list<absl::string_view> left_out) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool is_left_out =
        std::find(left_out.begin(), left_out.end(), field.full_name()) != left_out.end();
    Entry entry;
    entry.field = &field;
    entry.has_presence = field.has_presence();
    if (field.message_type() != nullptr) {
      if (is_left_out || absl::StartsWith(field.message_type()->full_name(), "google.")) continue;
      // Ends, since no message of the API holds itself (request_limits_test.cc).
      NumberLimits below(*field.message_type(), left_out);
      if (below.entries_.empty()) continue;
      entry.kind = field.is_repeated() ? Kind::kMessages : Kind::kMessage;
      // A required message that is absent lacks the numbers that it requires.
      entry.has_presence =
          field.has_presence() && !field.options().GetExtension(v1::field).required();
      entry.below.push_back(std::move(below));
    } else {
      const v1::FieldDescription& facts = field.options().GetExtension(v1::field);
      if (!facts.has_min() && !facts.has_max()) continue;
      entry.kind = field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ? Kind::kReal : Kind::kWhole;
      entry.required = facts.required() && !is_left_out;
      entry.range = {.low = facts.has_min() ? facts.min() : -kNone,
                     .high = facts.has_max() ? facts.max() : kNone,
                     .above_low = facts.above_min()};
      if (entry.kind == Kind::kWhole) {  // a real number's range may be beyond those of integers
        entry.low = facts.has_min() ? static_cast<int64_t>(facts.min()) : kLowest;
        entry.high = facts.has_max() ? static_cast<int64_t>(facts.max()) : kHighest;
      }
    }
    entries_.push_back(std::move(entry));
  }
}

void NumberLimits::Check(const Message& message, const MessagePath& path, FaultSink sink) const {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (const Entry& entry : entries_) {
    const FieldDescriptor* const field = entry.field;
    if (entry.has_presence && !reflection.HasField(message, field)) continue;
    switch (entry.kind) {
      case Kind::kWhole:
        CheckWhole(entry, message, path, sink);
        break;
      case Kind::kReal:
        CheckReal(entry, message, path, sink);
        break;
      case Kind::kMessage:
        entry.below.front().Check(reflection.GetMessage(message, field),
                                  MessagePath(path, field->name()), sink);
        break;
      case Kind::kMessages:
        for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
          entry.below.front().Check(reflection.GetRepeatedMessage(message, field, i),
                                    MessagePath(path, field->name(), i), sink);
        }
    }
  }
}

void NumberLimits::CheckWhole(const Entry& entry, const Message& message, const MessagePath& path,
                              FaultSink sink) {
  const int64_t value = message.GetReflection()->GetInt64(message, entry.field);
  if (value >= entry.low && value <= entry.high) return;
  // Without presence, 0 is an absent number.
  if (value == 0 && !entry.has_presence && !entry.required) return;
  FieldChecker checker({}, sink);
  const FieldChecker::Field field = {path, entry.field->name()};
  const bool is_bytes =
      entry.field->options().GetExtension(v1::field).unit() == v1::FieldDescription::UNIT_BYTE;
  if (value == 0 && entry.low >= 1) {
    checker.Fault(
        field, entry.has_presence
                   ? absl::StrCat("must be at least ", entry.low, ", or left out for its default")
                   : absl::StrCat("is required: write ", entry.low, " to ", entry.high));
  } else if (is_bytes && value > 0 && value < entry.low) {  // meant in another unit
    constexpr int64_t kGibibyte = int64_t{1} << 30;
    const std::string least =
        entry.low % kGibibyte == 0 ? absl::StrCat(", ", entry.low / kGibibyte, " GiB or more") : "";
    checker.Fault(field, absl::StrCat("must be ", entry.low, " to ", entry.high, ", not ", value,
                                      ": write bytes", least));
  } else {
    checker.Whole(field, value, entry.low, entry.high);
  }
}

void NumberLimits::CheckReal(const Entry& entry, const Message& message, const MessagePath& path,
                             FaultSink sink) {
  const double value = message.GetReflection()->GetDouble(message, entry.field);
  if (value == 0 && !entry.has_presence && !entry.required) return;
  FieldChecker({}, sink).Real({path, entry.field->name()}, value, entry.range);
}

}  // namespace sextant::check
