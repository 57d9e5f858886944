// An instant as text.
#ifndef SEXTANT_ENGINE_BASE_UTC_TEXT_H_
#define SEXTANT_ENGINE_BASE_UTC_TEXT_H_

#include <cstdint>
#include <string>

namespace sextant {

// Seconds since 1970-01-01T00:00:00Z as ISO 8601: "2026-01-31T12:00:00Z". By arithmetic
// alone: no clock, no time zone files.
std::string UtcText(int64_t unix_seconds);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_UTC_TEXT_H_
