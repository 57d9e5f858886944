#include "tests/fuzz/json_mutator.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/message_mutator.h"

namespace sextant {
namespace {

using google::protobuf::Message;

// Changes fields of the message; false where `json` is none.
bool MutateFields(const Message& prototype, std::string& json, FuzzRandom& random) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const std::unique_ptr<Message> message(prototype.New());
  if (!google::protobuf::util::JsonStringToMessage(json, message.get(), options).ok()) return false;
  for (size_t count = 1 + random() % 4; count > 0; --count) MutateMessage(*message, random);
  json.clear();
  return google::protobuf::util::MessageToJsonString(*message, &json).ok();
}

}  // namespace

size_t MutateJson(const Message& prototype, JsonText text, uint8_t* data, size_t size,
                  size_t max_size, unsigned int seed) {
  FuzzRandom random(seed);
  std::vector<std::string> lines = {std::string(reinterpret_cast<const char*>(data), size)};
  if (text == JsonText::kAMessagePerLine) lines = absl::StrSplit(lines[0], '\n');
  std::string& line = lines[random() % lines.size()];
  if (random() % 4 == 0 || !MutateFields(prototype, line, random)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  if (text == JsonText::kAMessagePerLine && random() % 8 == 0) {
    lines.insert(lines.begin(), std::string(lines[random() % lines.size()]));
  }
  const std::string out = absl::StrJoin(lines, "\n");
  const size_t copied = std::min(out.size(), max_size);
  std::copy_n(out.begin(), copied, data);
  return copied;
}

}  // namespace sextant
