#include "tests/soak/mutation.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <limits>

#include "sextant/v1/calibration.pb.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kMaxListElements = 65'536;

}  // namespace

int64_t Mutation::ChangedWhole(int64_t value) {
  constexpr int64_t kHalf = std::numeric_limits<int64_t>::max() / 2;
  constexpr int64_t kUsual[] = {0, 1, 2, 3, 8, 64, 100, 256, 1024, 4096, 65'536, 1'000'000};
  switch (Below(5)) {
    case 0:
      return value < kHalf ? 2 * value : value;
    case 1:
      return value / 2;
    case 2:
      return value < kHalf ? value + 1 : value;
    case 3:
      return value - 1;
    default:
      return kUsual[Below(12)];
  }
}

double Mutation::ChangedReal(double value) {
  constexpr double kFactors[] = {0.5, 0.9, 1.1, 2, 100};
  return (value == 0 ? 1 : value) * kFactors[Below(5)];
}

void Mutation::Append(Message* message, const Field* field, int source) {
  const Reflection& all = *message->GetReflection();
  switch (field->cpp_type()) {
    case Field::CPPTYPE_MESSAGE: {
      Message* const made = all.AddMessage(message, field);
      made->CopyFrom(all.GetRepeatedMessage(*message, field, source));
      const Field* const name = made->GetDescriptor()->FindFieldByName("name");
      if (name == nullptr || name->cpp_type() != Field::CPPTYPE_STRING) return;
      const std::string before = made->GetReflection()->GetString(*made, name);
      made->GetReflection()->SetString(
          made, name, before.substr(0, before.find('~')) + "~" + std::to_string(++names_));
      return;
    }
    case Field::CPPTYPE_STRING:
      return all.AddString(message, field, all.GetRepeatedString(*message, field, source));
    case Field::CPPTYPE_INT64:
      return all.AddInt64(message, field, all.GetRepeatedInt64(*message, field, source));
    case Field::CPPTYPE_DOUBLE:
      return all.AddDouble(message, field, all.GetRepeatedDouble(*message, field, source));
    case Field::CPPTYPE_ENUM:
      return all.AddEnumValue(message, field, all.GetRepeatedEnumValue(*message, field, source));
    default:
      return;
  }
}

void Mutation::ChangeList(Message* message, const Field* field) {
  const Reflection& all = *message->GetReflection();
  const int size = all.FieldSize(*message, field);
  if (size == 0) {
    if (field->cpp_type() == Field::CPPTYPE_MESSAGE) all.AddMessage(message, field);
    if (field->cpp_type() == Field::CPPTYPE_INT64) all.AddInt64(message, field, 1);
    if (field->cpp_type() == Field::CPPTYPE_DOUBLE) all.AddDouble(message, field, 1);
    if (field->cpp_type() == Field::CPPTYPE_STRING) all.AddString(message, field, "x");
    if (field->cpp_type() == Field::CPPTYPE_ENUM) all.AddEnumValue(message, field, 1);
    return;
  }
  switch (Below(6)) {
    case 0:
    case 1:
      for (int i = 0; i < size && size + i < kMaxListElements; ++i) Append(message, field, i);
      return;
    case 2:
      return Append(message, field, Below(size));
    case 3:
      for (int i = 0; i < (size + 1) / 2; ++i) all.RemoveLast(message, field);
      return;
    case 4:
      return all.SwapElements(message, field, Below(size), Below(size));
    default:
      break;
  }
  const int index = Below(size);
  if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
    Apply(all.MutableRepeatedMessage(message, field, index));
  } else if (field->cpp_type() == Field::CPPTYPE_INT64) {
    all.SetRepeatedInt64(message, field, index,
                         ChangedWhole(all.GetRepeatedInt64(*message, field, index)));
  } else if (field->cpp_type() == Field::CPPTYPE_DOUBLE) {
    all.SetRepeatedDouble(message, field, index,
                          ChangedReal(all.GetRepeatedDouble(*message, field, index)));
  } else if (field->cpp_type() == Field::CPPTYPE_ENUM) {
    all.SetRepeatedEnumValue(message, field, index, Below(field->enum_type()->value_count()));
  }
}

void Mutation::ChangeValue(Message* message, const Field* field) {
  const Reflection& all = *message->GetReflection();
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT64:
      return all.SetInt64(message, field, ChangedWhole(all.GetInt64(*message, field)));
    case Field::CPPTYPE_INT32:
      return all.SetInt32(message, field, Below(1000));
    case Field::CPPTYPE_DOUBLE:
      return all.SetDouble(message, field, ChangedReal(all.GetDouble(*message, field)));
    case Field::CPPTYPE_BOOL:
      return all.SetBool(message, field, !all.GetBool(*message, field));
    case Field::CPPTYPE_ENUM:
      return all.SetEnumValue(message, field, Below(field->enum_type()->value_count()));
    case Field::CPPTYPE_STRING: {
      const std::string text = all.GetString(*message, field);
      if (text.empty()) return all.SetString(message, field, "x");
      if (Below(2) == 0) return all.SetString(message, field, text.substr(0, text.size() / 2));
      return all.SetString(message, field, text + text);
    }
    default:
      return;
  }
}

void Mutation::Change(Message* message, const Field* field) {
  const size_t known = values_.CountOf(field);
  if (known > 0 && Below(3) == 0) {
    return values_.Give(field, static_cast<size_t>(Below(static_cast<int>(known))), message);
  }
  const Reflection& all = *message->GetReflection();
  if (field->is_repeated()) return ChangeList(message, field);
  const bool is_message = field->cpp_type() == Field::CPPTYPE_MESSAGE;
  if (all.HasField(*message, field) && Below(10) == 0) return all.ClearField(message, field);
  if (!is_message) return ChangeValue(message, field);
  if (all.HasField(*message, field) || Below(4) == 0) Apply(all.MutableMessage(message, field));
}

void Mutation::Apply(Message* message) {
  const auto& type = *message->GetDescriptor();
  if (type.field_count() == 0) return;
  // Prefers fields that are set.
  const Field* field = type.field(Below(type.field_count()));
  for (int i = 0; i < 3; ++i) {
    const Reflection& all = *message->GetReflection();
    if (field->is_repeated() ? all.FieldSize(*message, field) > 0 : all.HasField(*message, field)) {
      break;
    }
    field = type.field(Below(type.field_count()));
  }
  Change(message, field);
}

void MarkCalibrations(Message* message, int64_t number) {
  if (auto* const calibration = dynamic_cast<v1::Calibration*>(message)) {
    calibration->mutable_measured_time()->set_nanos(static_cast<int32_t>(number % 1'000'000'000));
    return;
  }
  std::vector<const FieldDescriptor*> set;
  const Reflection& all = *message->GetReflection();
  all.ListFields(*message, &set);
  for (const FieldDescriptor* field : set) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      MarkCalibrations(all.MutableMessage(message, field), number);
      continue;
    }
    for (int i = 0; i < all.FieldSize(*message, field); ++i) {
      MarkCalibrations(all.MutableRepeatedMessage(message, field, i), number);
    }
  }
}

}  // namespace sextant::server
