#include "tests/fuzz/message_mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/fuzz/fuzz_target.h"

namespace sextant {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

constexpr int kMaxDepth = 8;
constexpr size_t kMaxTextGrowth = 16;
constexpr size_t kMaxTextBytes = 300;

size_t Below(size_t end, FuzzRandom& random) { return random() % end; }
int Below(int end, FuzzRandom& random) {
  return static_cast<int>(Below(static_cast<size_t>(end), random));
}

// `message` and the messages within it.
void AddAll(Message& message, int depth, std::vector<Message*>& out) {
  out.push_back(&message);
  if (depth == kMaxDepth) return;
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      AddAll(*reflection.MutableMessage(&message, field), depth + 1, out);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      AddAll(*reflection.MutableRepeatedMessage(&message, field, i), depth + 1, out);
    }
  }
}

std::string RealNear(const std::string& old, FuzzRandom& random) {
  static constexpr std::array<const char*, 14> kExtremes = {
      "0",    "-0.0", "1",    "-1",    "0.5",     "1e-320", "1e-300",
      "1e-9", "1e9",  "1e18", "1e300", "1.7e308", "inf",    "nan"};
  double value = 0;
  if (Below(2, random) == 0 || !absl::SimpleAtod(old, &value) || !std::isfinite(value)) {
    return kExtremes[Below(kExtremes.size(), random)];
  }
  return absl::StrFormat(
      "%.17g", value * std::pow(10, Below(2, random) == 0 ? Below(37, random) - 18
                                                          : (Below(9, random) - 4) / 4.0));
}

std::string IntegerNear(const std::string& old, int64_t most, FuzzRandom& random) {
  int64_t value = 0;
  (void)absl::SimpleAtoi(old, &value);
  const std::array<int64_t, 10> extremes = {0, 1, 2, 3, 8, 64, 1000, -1, most, -most - 1};
  switch (Below(5, random)) {
    case 0:
      return absl::StrCat(value < most ? value + 1 : most);
    case 1:
      return absl::StrCat(value > 0 ? value - 1 : 0);
    case 2:
      return absl::StrCat(std::abs(value / 2) < most / 4 ? value * 2 : value / 2);
    case 3:
      return absl::StrCat(most >> Below(63, random));
    default:
      return absl::StrCat(extremes[Below(extremes.size(), random)]);
  }
}

std::string TextNear(std::string text, FuzzRandom& random) {
  if (Below(16, random) == 0) return std::string(Below(kMaxTextBytes, random), 'x');
  const size_t size = std::min(text.size(), kMaxTextBytes);
  text.resize(size + kMaxTextGrowth);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
  for (char& c : text) c = static_cast<char>(c & 0x7f);
  return text;
}

// A value of the field, as text format has it. `old` is empty where there was none.
std::string ValueNear(const FieldDescriptor& field, const std::string& old, FuzzRandom& random) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return RealNear(old, random);
    case FieldDescriptor::CPPTYPE_INT64:
      return IntegerNear(old, std::numeric_limits<int64_t>::max(), random);
    case FieldDescriptor::CPPTYPE_INT32:
      return IntegerNear(old, std::numeric_limits<int32_t>::max(), random);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto& type = *field.enum_type();
      return absl::StrCat(Below(16, random) == 0
                              ? type.value_count() + 1
                              : type.value(Below(type.value_count(), random))->number());
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text;
      if (old.size() >= 2) (void)absl::CUnescape(old.substr(1, old.size() - 2), &text);
      return absl::StrCat("\"", absl::CEscape(TextNear(std::move(text), random)), "\"");
    }
    default:
      return old == "true" ? "false" : "true";
  }
}

void MutateField(Message& message, const FieldDescriptor& field, FuzzRandom& random) {
  const Reflection& reflection = *message.GetReflection();
  const bool is_list = field.is_repeated();
  const int count = is_list                                ? reflection.FieldSize(message, &field)
                    : reflection.HasField(message, &field) ? 1
                                                           : 0;
  if (count > 0 && Below(6, random) == 0) return reflection.ClearField(&message, &field);
  if (is_list && count > 1) {
    reflection.SwapElements(&message, &field, Below(count, random), count - 1);
  }
  if (is_list && count > 0 && Below(4, random) == 0) {
    return reflection.RemoveLast(&message, &field);
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (!is_list) return (void)reflection.MutableMessage(&message, &field);
    Message* added = reflection.AddMessage(&message, &field);
    if (count > 0) added->CopyFrom(reflection.GetRepeatedMessage(message, &field, count - 1));
    return;
  }
  std::string old;
  if (count > 0) {
    TextFormat::PrintFieldValueToString(message, &field, is_list ? count - 1 : -1, &old);
  }
  if (is_list && count > 0 && Below(2, random) == 0) reflection.RemoveLast(&message, &field);
  TextFormat::ParseFieldValueFromString(ValueNear(field, old, random), &field, &message);
}

}  // namespace

void MutateMessage(Message& message, FuzzRandom& random) {
  std::vector<Message*> all;
  AddAll(message, 0, all);
  Message& chosen = *all[Below(all.size(), random)];
  const auto& type = *chosen.GetDescriptor();
  if (type.field_count() == 0) return;
  MutateField(chosen, *type.field(Below(type.field_count(), random)), random);
}

}  // namespace sextant
