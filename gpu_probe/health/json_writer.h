// JSON in the order in which it is written; protobuf's own Struct would shuffle it.
#ifndef SEXTANT_GPU_PROBE_HEALTH_JSON_WRITER_H_
#define SEXTANT_GPU_PROBE_HEALTH_JSON_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// Writes one value. Keys only in objects; what is begun has to be ended.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(absl::string_view name);
  // Bytes that are not UTF-8 are left out.
  JsonWriter& String(absl::string_view value);
  JsonWriter& Number(double value);  // finite; as many digits as it takes to read it back
  JsonWriter& Whole(int64_t value);
  JsonWriter& Bool(bool value);

  const std::string& text() const { return text_; }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  JsonWriter& Value(absl::string_view value);

  std::string text_;
  bool comma_ = false;  // before the next key or value
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_JSON_WRITER_H_
