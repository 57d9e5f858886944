// Files that the program writes.
#ifndef SEXTANT_CLIENT_WRITTEN_FILE_H_
#define SEXTANT_CLIENT_WRITTEN_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace sextant {

// Writes `text` as `file`: all of it, or, where it fails, what was there before. A symbolic link
// is followed.
//
// Errors: kFailedPrecondition where `file` is something else than a regular file, a device
// say; kUnavailable, with the system's own word, where it can't be written.
absl::Status WriteText(const std::string& file, const std::string& text);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_WRITTEN_FILE_H_
