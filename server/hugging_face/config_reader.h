// Reads fields of a config.json by name, and knows which were read.
#ifndef SEXTANT_SERVER_HUGGING_FACE_CONFIG_READER_H_
#define SEXTANT_SERVER_HUGGING_FACE_CONFIG_READER_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "server/hugging_face/config_fields.h"

namespace sextant {

// A null is an absent field, but for flags: there transformers takes it as false where an
// absent field takes its default, so it is refused.
class ConfigReader {
 public:
  // Both outlive the reader; mistakes are appended to `violations`.
  ConfigReader(const ConfigFields& fields, FieldViolations& violations)
      : fields_(fields), violations_(violations) {}

  // A whole number of 1 to 1e9 (the largest range of any size of a TransformerSpec); 0 where
  // the field is absent or at fault.
  int64_t Size(absl::string_view name);

  // True or false; `if_absent` where the field is absent or at fault.
  bool Flag(absl::string_view name, bool if_absent);

  // The field, marked as read; null where it is absent.
  const ConfigValue* Find(absl::string_view name);

  // Appends a violation of `name`, unless it has one.
  void Refuse(absl::string_view name, absl::string_view description);

  bool HasRead(const std::string& name) const { return read_.count(name) != 0; }
  const ConfigFields& fields() const { return fields_; }
  bool ok() const { return violations_.empty(); }

 private:
  const ConfigFields& fields_;
  FieldViolations& violations_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_HUGGING_FACE_CONFIG_READER_H_
