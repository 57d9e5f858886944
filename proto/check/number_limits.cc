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

bool IsReal(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

// Reports an int64 that is missing or out of range.
void ReportWhole(FieldChecker& checker, FieldChecker::Field field, const FieldDescriptor& type,
                 int64_t value, int64_t low, int64_t high) {
  const bool is_bytes =
      type.options().GetExtension(v1::field).unit() == v1::FieldDescription::UNIT_BYTE;
  if (is_bytes && value > 0 && value < low) {  // of another unit
    checker.Fault(field,
                  absl::StrCat("must be ", low, " to ", high, ", not ", value, ": write bytes"));
  } else if (value != 0 || low < 1) {
    checker.Whole(field, value, low, high);
  } else if (type.has_presence()) {
    checker.Fault(field, absl::StrCat("must be at least ", low, ", or left out for its default"));
  } else {
    checker.Fault(field, absl::StrCat("is required: write ", low, " to ", high));
  }
}

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
    if (field.message_type() != nullptr) {
      if (is_left_out || absl::StartsWith(field.message_type()->full_name(), "google.")) continue;
      NumberLimits below(*field.message_type(), left_out);
      if (below.entries_.empty()) continue;
      entry.below.push_back(std::move(below));
    } else {
      const v1::FieldDescription& facts = field.options().GetExtension(v1::field);
      if (!facts.has_min() && !facts.has_max()) continue;
      entry.required = facts.required() && !is_left_out;
      entry.range = {.low = facts.has_min() ? facts.min() : -kNone,
                     .high = facts.has_max() ? facts.max() : kNone,
                     .above_low = facts.above_min()};
      entry.low = facts.has_min() ? static_cast<int64_t>(facts.min()) : kLowest;
      entry.high = facts.has_max() ? static_cast<int64_t>(facts.max()) : kHighest;
    }
    entries_.push_back(std::move(entry));
  }
}

void NumberLimits::Check(const Message& message, const MessagePath& path, FaultSink sink) const {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  FieldChecker checker({}, sink);
  for (const Entry& entry : entries_) {
    const FieldDescriptor* const field = entry.field;
    if (!entry.below.empty()) {
      CheckBelow(entry, message, path, sink);
    } else if (field->has_presence() && !reflection.HasField(message, field)) {
      continue;
    } else if (IsReal(*field)) {
      const double value = reflection.GetDouble(message, field);
      // Without presence, 0 is an absent number.
      if (value == 0 && !field->has_presence() && !entry.required) continue;
      checker.Real({path, field->name()}, value, entry.range);
    } else {
      const int64_t value = reflection.GetInt64(message, field);
      if (value >= entry.low && value <= entry.high) continue;
      if (value == 0 && !field->has_presence() && !entry.required) continue;
      ReportWhole(checker, {path, field->name()}, *field, value, entry.low, entry.high);
    }
  }
}

void NumberLimits::CheckBelow(const Entry& entry, const Message& message, const MessagePath& path,
                              FaultSink sink) const {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const NumberLimits& limits = entry.below.front();
  if (!entry.field->is_repeated()) {
    if (!reflection.HasField(message, entry.field)) return;
    limits.Check(reflection.GetMessage(message, entry.field),
                 MessagePath(path, entry.field->name()), sink);
    return;
  }
  const int count = reflection.FieldSize(message, entry.field);
  for (int i = 0; i < count; ++i) {
    limits.Check(reflection.GetRepeatedMessage(message, entry.field, i),
                 MessagePath(path, entry.field->name(), i), sink);
  }
}

}  // namespace sextant::check
