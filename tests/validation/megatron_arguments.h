// The arguments of a Megatron-LM run.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_ARGUMENTS_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_ARGUMENTS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"

namespace sextant {

// By their names without dashes in front. A value may be written as a number or as text.
class MegatronArguments {
 public:
  // Errors: kInvalidArgument where `text` is no JSON object.
  static absl::StatusOr<MegatronArguments> Parse(const std::string& text);

  bool Has(const std::string& name) const { return values_.contains(name); }
  bool Flag(const std::string& name) const;
  // `otherwise` where absent or no number.
  int64_t Count(const std::string& name, int64_t otherwise) const;
  double Number(const std::string& name, double otherwise) const;
  std::string Text(const std::string& name, const std::string& otherwise) const;

  // A property of the run that the engine has no field for, or an argument that nobody has judged;
  // absent where every argument is either read or without effect on memory.
  absl::optional<std::string> Undescribed() const;

 private:
  nlohmann::json values_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_ARGUMENTS_H_
