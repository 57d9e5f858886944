// The version of the engine: with a request and its rates, it determines an answer.
#ifndef SEXTANT_ENGINE_BASE_VERSION_H_
#define SEXTANT_ENGINE_BASE_VERSION_H_

#include "absl/strings/string_view.h"

namespace sextant {

// The version in CMakeLists.txt's project(), e.g. "0.1.0".
absl::string_view EngineVersion();

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_VERSION_H_
