// Values that fields of requests have in other requests, for every field of every message.
#ifndef SEXTANT_TESTS_SOAK_FIELD_VALUES_H_
#define SEXTANT_TESTS_SOAK_FIELD_VALUES_H_

#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sextant::server {

class FieldValues {
 public:
  using Field = google::protobuf::FieldDescriptor;

  // Keeps the values of all fields of `message` and of the messages in it, a few of each field.
  void Learn(const google::protobuf::Message& message);

  // How many values of `field` are kept.
  size_t CountOf(const Field* field) const;
  // Gives `field` of `to` the value at `index`; appends it to a list.
  void Give(const Field* field, size_t index, google::protobuf::Message* to) const;

 private:
  using Message = google::protobuf::Message;

  void Keep(const Message& message, const Field* field, int index);

  // Each in a message that has nothing else.
  std::map<const Field*, std::vector<std::unique_ptr<Message>>> values_;
};

// The values of the golden requests (tests/golden/requests), which set every field of every request
// (`golden.field_sweep`).
FieldValues ValuesOfGoldenRequests();

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SOAK_FIELD_VALUES_H_
