// An enum's value as command lines and labels spell it.
#ifndef SEXTANT_SERVER_CONVERT_SHORT_NAME_H_
#define SEXTANT_SERVER_CONVERT_SHORT_NAME_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// `name` without `prefix`, in lower case: "fp32" of DATA_TYPE_FP32.
std::string ShortName(absl::string_view name, absl::string_view prefix);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_SHORT_NAME_H_
