// Reads fields of a config.json by name, tracks which were read, and checks the others.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_READER_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_READER_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/config/config_fields.h"

namespace sextant {

// "attn_config.kv_n_heads" is a member of an object. A null is an absent field, except for flags:
// there transformers takes null as false but an absent field as its default, so null is rejected.
// An invalid field reads like an absent one.
class ConfigReader {
 public:
  // All arguments outlive the reader; errors are appended to `violations`, under paths below
  // `path`.
  ConfigReader(const ConfigFields& fields, absl::string_view path, FieldViolations& violations)
      : fields_(fields), path_(path), violations_(violations) {}

  // A whole number of 1 to 1e9, the limit of every size; 0 where the field is absent.
  int64_t Size(absl::string_view name);

  // The same for a required field, which must be at most `most`.
  int64_t RequiredSize(absl::string_view name, int64_t most);

  // A whole number of 0 to 1e9; `if_absent` where the field is absent.
  int64_t Count(absl::string_view name, int64_t if_absent);

  // Tokens that an attention sees: a Size(), where null means all of them and is returned as 0.
  // `if_absent` where the field is absent.
  int64_t Span(absl::string_view name, int64_t if_absent);

  // True or false; `if_absent` where the field is absent.
  bool Flag(absl::string_view name, bool if_absent);

  // A text; `if_absent` where the field is absent.
  std::string Text(absl::string_view name, absl::string_view if_absent);

  // An array of texts, or of whole numbers; nullopt where the field is absent.
  absl::optional<std::vector<std::string>> Texts(absl::string_view name);
  absl::optional<std::vector<int64_t>> Integers(absl::string_view name);

  // The field, marked as read; null where it is absent.
  const ConfigValue* Find(absl::string_view name);

  // True where the field exists, even as null; marks nothing as read.
  bool Has(absl::string_view name) const { return Lookup(name) != nullptr; }

  // Appends a violation of `name`, unless it or its object already has one.
  void Refuse(absl::string_view name, absl::string_view description);

  bool HasRead(absl::string_view name) const { return read_.count(name) != 0; }
  // True where a member of the object `name` was read.
  bool HasReadInside(absl::string_view name) const;

  const ConfigFields& fields() const { return fields_; }
  absl::string_view path() const { return path_; }
  bool ok() const { return violations_.empty(); }

 private:
  const ConfigValue* Lookup(absl::string_view name) const;
  const ConfigValue* Mark(absl::string_view name);
  void RefuseNumber(absl::string_view name, int64_t low, const ConfigValue& value);
  void RefuseOddObject(absl::string_view name);

  const ConfigFields& fields_;
  const absl::string_view path_;
  FieldViolations& violations_;
  std::set<std::string, std::less<>> read_;
  std::set<std::string, std::less<>> odd_objects_;  // not objects, though members were read
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_READER_H_
