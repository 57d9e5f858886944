// Reads the files that hold requests.
#ifndef SEXTANT_CLIENT_TEXT_FILE_H_
#define SEXTANT_CLIENT_TEXT_FILE_H_

#include <cstddef>
#include <istream>
#include <string>

#include "absl/status/statusor.h"

namespace sextant {

// The largest request that is sent, and the most that is read of a file that holds one:
// 1 MiB, a thousand times what a full request takes. Beyond its own limit gRPC answers
// RESOURCE_EXHAUSTED, which reads as "retry later" where it is not.
inline constexpr size_t kMaxRequestBytes = size_t{1} << 20;

// The longest config.json that a request takes: 64 KiB.
inline constexpr size_t kMaxConfigBytes = size_t{64} << 10;

// Whether `name` can be opened for reading and is not a directory.
bool IsReadableFile(const std::string& name);

// All of file `name`, or of `in` where `name` is "-".
//
// Errors: kNotFound where it can't be read; kOutOfRange above `limit_bytes`.
absl::StatusOr<std::string> ReadText(const std::string& name, std::istream& in,
                                     size_t limit_bytes = kMaxRequestBytes);

bool IsUtf8(const std::string& text);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_TEXT_FILE_H_
