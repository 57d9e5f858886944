// Matchers of messages.
#ifndef SEXTANT_TESTS_SERVER_MESSAGE_MATCHERS_H_
#define SEXTANT_TESTS_SERVER_MESSAGE_MATCHERS_H_

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <string>
#include <vector>

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

// The fields of `message`, and of the API's messages in it, that are set nowhere in it.
std::vector<std::string> UnsetFields(const google::protobuf::Message& message);

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_MESSAGE_MATCHERS_H_
