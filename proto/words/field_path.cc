#include "proto/words/field_path.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "proto/text/enum_names.h"
#include "proto/words/number.h"
#include "sextant/v1/data_type.pb.h"
#include "sextant/v1/device_selector.pb.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/rates.pb.h"
#include "sextant/v1/training.pb.h"

namespace sextant::words {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using text::EnumName;
using text::EnumNames;
using text::EnumNumber;

// Names of `field`'s type that the server refuses in it: a rate may come from the request, but none
// is required to; runs compute in floating point, and store in types that need no scales.
std::vector<std::string> RefusedIn(const FieldDescriptor& field) {
  if (&field == v1::RateRequirement::descriptor()->FindFieldByName("minimum_source")) {
    return {"request"};
  }
  if (field.enum_type() != v1::DataType_descriptor()) return {};
  const bool precision = field.containing_type() == v1::PrecisionPolicy::descriptor();
  if (precision && field.name() == "compute_data_type") return {"int8", "int4"};
  if (!precision && field.containing_type() != v1::KernelChoices::descriptor()) return {};
  return {"tf32", "int8", "fp6", "fp4", "mxfp8", "mxfp4", "nvfp4", "int4"};
}

// The names that `field` takes.
std::vector<std::string> ChoicesOf(const FieldDescriptor& field) {
  if (&field == v1::WeightStorage::descriptor()->FindFieldByName("frozen_data_type")) {
    return {"int8", "int4", "fp4"};
  }
  std::vector<std::string> names = EnumNames(*field.enum_type());
  for (const std::string& refused : RefusedIn(field)) {
    names.erase(std::remove(names.begin(), names.end(), refused), names.end());
  }
  return names;
}

// Common names of values of the API's enums.
std::string UsualNameOf(const google::protobuf::EnumDescriptor& type, const std::string& text) {
  constexpr const char* kSchedules[][2] = {{"1f1b", "one-forward-one-backward"},
                                           {"zb-h1", "zero-bubble-h1"},
                                           {"zb-h2", "zero-bubble-h2"}};
  constexpr const char* kContextKinds[][2] = {{"p2p", "ring"}, {"a2a", "all-to-all"}};
  constexpr const char* kZeroStages[][2] = {
      {"0", "none"}, {"1", "optimizer"}, {"2", "gradients"}, {"3", "parameters"}};
  const auto find = [&text](const auto& pairs) -> std::string {
    for (const auto& [usual, name] : pairs) {
      if (text == usual) return name;
    }
    return text;
  };
  if (&type == v1::PipelineSchedule_descriptor()) return find(kSchedules);
  if (&type == v1::ContextParallelKind_descriptor()) return find(kContextKinds);
  return &type == v1::ZeroStage_descriptor() ? find(kZeroStages) : text;
}

// A field of one message, ready to be set.
struct Place {
  Message* message;
  const FieldDescriptor* field;

  const google::protobuf::Reflection& reflection() const { return *message->GetReflection(); }
};

absl::Status SetWhole(const Place& place, const absl::StatusOr<int64_t>& value) {
  if (!value.ok()) return value.status();
  place.reflection().SetInt64(place.message, place.field, *value);
  return absl::OkStatus();
}

absl::Status SetWholes(const Place& place, const std::string& text) {
  const absl::StatusOr<std::vector<int64_t>> values =
      ParseSizes(absl::StrReplaceAll(text, {{",", "x"}}));
  if (!values.ok()) return values.status();
  for (const int64_t value : *values) {
    place.reflection().AddInt64(place.message, place.field, value);
  }
  return absl::OkStatus();
}

absl::Status SetNumber(const Place& place, const absl::StatusOr<double>& value) {
  if (!value.ok()) return value.status();
  place.reflection().SetDouble(place.message, place.field, *value);
  return absl::OkStatus();
}

absl::Status SetChoice(const Place& place, const std::string& text) {
  const google::protobuf::EnumDescriptor& type = *place.field->enum_type();
  const std::optional<int> number = EnumNumber(type, UsualNameOf(type, text));
  const std::vector<std::string> choices = ChoicesOf(*place.field);
  if (!number.has_value() || !absl::c_linear_search(choices, EnumName(type, *number))) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not known; write one of ", absl::StrJoin(choices, ", ")));
  }
  place.reflection().SetEnumValue(place.message, place.field, *number);
  return absl::OkStatus();
}

absl::Status SetBoolean(const Place& place, const std::string& text) {
  if (text != "true" && text != "false") {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is neither; write true or false"));
  }
  place.reflection().SetBool(place.message, place.field, text == "true");
  return absl::OkStatus();
}

// The message to fill: a new entry where the field is repeated.
Message* MessageAt(const Place& place) {
  return place.field->is_repeated() ? place.reflection().AddMessage(place.message, place.field)
                                    : place.reflection().MutableMessage(place.message, place.field);
}

absl::Status SetDuration(const Place& place, const absl::StatusOr<int64_t>& nanoseconds) {
  if (!nanoseconds.ok()) return nanoseconds.status();
  MessageAt(place)->CopyFrom(google::protobuf::util::TimeUtil::NanosecondsToDuration(*nanoseconds));
  return absl::OkStatus();
}

// "2027-01-31" is its first second, UTC.
absl::Status SetInstant(const Place& place, const std::string& text) {
  const std::string whole = absl::StrContains(text, 'T') ? text : absl::StrCat(text, "T00:00:00Z");
  google::protobuf::Timestamp time;
  if (!google::protobuf::util::TimeUtil::FromString(whole, &time)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not a date; write it as 2027-01-31 or 2027-01-31T18:00:00Z"));
  }
  MessageAt(place)->CopyFrom(time);
  return absl::OkStatus();
}

absl::Status SetPlace(const Place& place, const std::string& text);

absl::Status SetPairs(const Place& place, const std::string& text) {
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    const std::vector<std::string> counts = absl::StrSplit(entry, ':');
    if (counts.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", entry, "\" is not a pair; write two counts, as in 10B:512"));
    }
    Message* const message = MessageAt(place);
    for (int i = 0; i < 2; ++i) {
      absl::Status set =
          SetPlace({message, message->GetDescriptor()->field(i)}, counts[static_cast<size_t>(i)]);
      if (!set.ok()) return set;
    }
  }
  return absl::OkStatus();
}

// True for a message of two counts.
bool IsPair(const Descriptor& type) {
  const auto is_count = [&type](int i) {
    return type.field(i)->cpp_type() == FieldDescriptor::CPPTYPE_INT64;
  };
  return type.field_count() == 2 && is_count(0) && is_count(1);
}

FieldForm FormOfMessage(const FieldDescriptor& field) {
  const Descriptor* const type = field.message_type();
  if (type == google::protobuf::Duration::descriptor()) return FieldForm::kDuration;
  if (type == google::protobuf::Timestamp::descriptor()) return FieldForm::kInstant;
  return field.is_repeated() && IsPair(*type) ? FieldForm::kPairs : FieldForm::kMessage;
}

absl::Status SetMessage(const Place& place, const std::string& json) {
  Message* message = MessageAt(place);
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, message);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("not a ", message->GetTypeName(), " in proto JSON: ", parsed.ToString()));
}

absl::Status SetText(const Place& place, const std::string& text) {
  if (!place.field->is_repeated()) {
    place.reflection().SetString(place.message, place.field, text);
    return absl::OkStatus();
  }
  for (std::string& entry : std::vector<std::string>(absl::StrSplit(text, ','))) {
    place.reflection().AddString(place.message, place.field, std::move(entry));
  }
  return absl::OkStatus();
}

absl::Status SetPlace(const Place& place, const std::string& text) {
  switch (FormOf(*place.field)) {
    case FieldForm::kCount:
      return SetWhole(place, ParseCount(text));
    case FieldForm::kLength:
      return SetWhole(place, ParseLength(text));
    case FieldForm::kCounts:
      return SetWholes(place, text);
    case FieldForm::kByteCount:
      return SetWhole(place, ParseByteCount(text));
    case FieldForm::kNumber:
      return SetNumber(place, ParseNumber(text));
    case FieldForm::kChoice:
      return SetChoice(place, text);
    case FieldForm::kBoolean:
    case FieldForm::kSwitch:
      return SetBoolean(place, text);
    case FieldForm::kDuration:
      return SetDuration(place, ParseNanoseconds(text));
    case FieldForm::kInstant:
      return SetInstant(place, text);
    case FieldForm::kPairs:
      return SetPairs(place, text);
    case FieldForm::kMessage:
      return SetMessage(place, text);
    case FieldForm::kText:
    case FieldForm::kTextFile:
      break;
  }
  return SetText(place, text);
}

}  // namespace

const FieldDescriptor* FindField(const Descriptor& type, absl::string_view path) {
  const Descriptor* message = &type;
  const FieldDescriptor* field = nullptr;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (message == nullptr) return nullptr;
    field = message->FindFieldByName(std::string(name));
    if (field == nullptr) return nullptr;
    message = field->message_type();  // nullptr for a scalar
  }
  return field;
}

FieldForm FormOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      if (field.is_repeated()) return FieldForm::kCounts;
      if (field.name() == "bytes" || absl::EndsWith(field.name(), "_bytes")) {
        return FieldForm::kByteCount;
      }
      return absl::EndsWith(field.name(), "_length") || absl::EndsWith(field.name(), "_batch_size")
                 ? FieldForm::kLength
                 : FieldForm::kCount;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FieldForm::kNumber;
    case FieldDescriptor::CPPTYPE_ENUM:
      return FieldForm::kChoice;
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.has_presence() ? FieldForm::kBoolean : FieldForm::kSwitch;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return FormOfMessage(field);
    default:
      return absl::EndsWith(field.name(), "_config") ? FieldForm::kTextFile : FieldForm::kText;
  }
}

bool IsFile(FieldForm form) { return form == FieldForm::kMessage || form == FieldForm::kTextFile; }

std::string ValueName(const FieldDescriptor& field) {
  switch (FormOf(field)) {
    case FieldForm::kCount:
    case FieldForm::kLength:
      return "COUNT";
    case FieldForm::kCounts:
      return "SIZES";
    case FieldForm::kByteCount:
      return "BYTES";
    case FieldForm::kNumber:
      return "NUMBER";
    case FieldForm::kChoice:
      return absl::StrJoin(ChoicesOf(field), "|");
    case FieldForm::kBoolean:
      return "true|false";
    case FieldForm::kDuration:
      return "TIME";
    case FieldForm::kInstant:
      return "DATE";
    case FieldForm::kPairs:
      return "PAIRS";
    case FieldForm::kMessage:
    case FieldForm::kTextFile:
      return "FILE";
    case FieldForm::kSwitch:
      return "";
    case FieldForm::kText:
      break;
  }
  return field.containing_type() == v1::HostDevices::descriptor() ? "UUID" : "NAME";
}

absl::Status SetField(absl::string_view path, const std::string& text, Message* message) {
  const FieldDescriptor* field = FindField(*message->GetDescriptor(), path);
  if (field == nullptr) return absl::InternalError(absl::StrCat("no field \"", path, "\""));
  Place place{message, nullptr};
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (place.field != nullptr) {
      place.message = place.reflection().MutableMessage(place.message, place.field);
    }
    place.field = place.message->GetDescriptor()->FindFieldByName(std::string(name));
  }
  return SetPlace(place, text);
}

}  // namespace sextant::words
