// Writes that are whole or not at all.
#ifndef SEXTANT_GPU_PROBE_FILE_WRITE_H_
#define SEXTANT_GPU_PROBE_FILE_WRITE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant {

// Writes all of `bytes`, in as many turns as it takes.
//
// Errors: kCancelled where nobody reads any more (EPIPE; SIGPIPE must be ignored); kInternal
// with the system's words otherwise.
absl::Status WriteAll(int file_descriptor, absl::string_view bytes);

// Replaces the file `path`, or the one that this is a link to, by one that holds `bytes`: a
// reader, even after a crash at any moment, finds the old file whole or the new one whole. The
// new one is written beside it under its name and a suffix ".XXXXXX"; a killed writer may leave
// that behind. Mode 0644.
//
// Errors: kInternal with the path and the system's words; the old file is then as it was.
absl::Status ReplaceFile(const std::string& path, absl::string_view bytes);

// Whether ReplaceFile(path) can work, as far as can be told beforehand.
//
// Errors: kInvalidArgument where `path` is there and neither a regular file nor a link to one,
// or is what standard output goes to, or the file's folder is not there or can't be written.
absl::Status CheckReplaceable(const std::string& path);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_FILE_WRITE_H_
