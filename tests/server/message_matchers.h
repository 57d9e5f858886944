// Matchers of messages and their notes, and checks that values of the wire's enums and the engine's
// become each other by their names.
#ifndef SEXTANT_TESTS_SERVER_MESSAGE_MATCHERS_H_
#define SEXTANT_TESTS_SERVER_MESSAGE_MATCHERS_H_

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/repeated_ptr_field.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "sextant/v1/note.pb.h"

namespace sextant::server {

// A message whose fields are those of `text`, in protobuf's text format, and no others.
MATCHER_P(EqualsText, text, "") {
  const google::protobuf::Message& message = arg;
  const std::unique_ptr<google::protobuf::Message> expected(message.New());
  if (!google::protobuf::TextFormat::ParseFromString(text, expected.get())) {
    *result_listener << "the expected text is none of " << message.GetTypeName();
    return false;
  }
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  const bool equal = differencer.Compare(*expected, message);
  *result_listener << differences;
  return equal;
}

// Counts, flags and enum values as numbers, so that one list of expected ones tells many fields
// apart.
inline constexpr double kAbsent = -1e9;
template <typename T>
double AsNumber(const T& value) {
  return static_cast<double>(value);
}
template <typename T>
double AsNumber(const absl::optional<T>& value) {
  return value.has_value() ? AsNumber(*value) : kAbsent;
}
template <typename... T>
std::vector<double> Numbers(const T&... values) {
  return {AsNumber(values)...};
}

// The fields of `message`, and of the API's messages in it, that are set nowhere in it.
std::vector<std::string> UnsetFields(const google::protobuf::Message& message);

// A note of that kind whose text matches.
inline ::testing::Matcher<const v1::Note&> IsWireNote(
    v1::NoteKind kind, const ::testing::Matcher<const std::string&>& text) {
  return ::testing::AllOf(::testing::Property("kind", &v1::Note::kind, kind),
                          ::testing::Property("text", &v1::Note::text, text));
}

// The source of that number in an answer; a failure where there is none.
inline std::string SourceAt(const google::protobuf::RepeatedPtrField<std::string>& sources,
                            int32_t number) {
  EXPECT_GE(number, 1);
  EXPECT_LE(number, sources.size());
  return number < 1 || number > sources.size() ? "" : sources.Get(number - 1);
}

// An enum of the API, and the engine's of the same names, declared in `header`.
struct EnumPair {
  const google::protobuf::EnumDescriptor* wire;
  std::string header;  // "engine/tensor/data_type.h"
  std::string name;    // "DataType"
};

// Expects that `to` turns each value of the engine's enum into the wire's of the same name, and
// that the wire has no others but its unspecified one.
void ExpectSameNames(const EnumPair& pair, const std::function<int(int)>& to);

// Expects that `from` turns each value of the wire's enum into the engine's of the same name, and
// the unspecified one into `unspecified`, an engine's name without its k; absent: "".
void ExpectArrives(const EnumPair& pair, const std::string& unspecified,
                   const std::function<absl::optional<int>(int)>& from);

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_MESSAGE_MATCHERS_H_
