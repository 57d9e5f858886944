// Writes that are complete or have no effect.
#ifndef SEXTANT_GPU_PROBE_FILE_WRITE_H_
#define SEXTANT_GPU_PROBE_FILE_WRITE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant::probe {

// Writes all of `bytes`, by several calls where needed.
//
// Errors: kCancelled where nobody reads any more (EPIPE; SIGPIPE must be ignored); otherwise
// kInternal with the system's message.
absl::Status WriteAll(int file_descriptor, absl::string_view bytes);

// Replaces the file `path`, or the one that it links to, by a file that holds `bytes`. A reader,
// also after a crash, finds either the old file or the new one, whole. The new one is first written
// next to it, under its name and a suffix ".XXXXXX"; a killed writer may leave that file. Mode
// 0644.
//
// Errors: kInternal with the path and the system's message; the old file is then unchanged.
absl::Status ReplaceFile(const std::string& path, absl::string_view bytes);

// Checks that ReplaceFile(path) can work, as far as can be checked in advance.
//
// Errors: kInvalidArgument where `path` exists and is neither a regular file nor a link to one, or
// is standard output's file, or where the file's folder does not exist or can't be written.
absl::Status CheckReplaceable(const std::string& path);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_FILE_WRITE_H_
