// Text files: reads those that hold requests, and writes pictures and calibrations.
#ifndef SEXTANT_CLIENT_IO_TEXT_FILE_H_
#define SEXTANT_CLIENT_IO_TEXT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sextant::client {

// Bytes of the largest request that is sent, and of the largest file read for one: 1 MiB, a
// thousand times a full request. Beyond gRPC's own limit it answers RESOURCE_EXHAUSTED, which would
// wrongly read as "retry later".
inline constexpr size_t kMaxRequestBytes = size_t{1} << 20;

// Bytes of the longest config.json that a request takes: 64 KiB; and of the longest file that is
// read for one, whose quantization_config is dropped.
inline constexpr size_t kMaxConfigBytes = size_t{64} << 10;
inline constexpr size_t kMaxConfigFileBytes = size_t{8} << 20;

// The error of a text that is longer than `limit_bytes`. `name` is the file's.
absl::Status TooLong(const std::string& name, size_t limit_bytes);

// Why `name` can't be read, as the system says it; "" where it can. Reads nothing of it: a pipe
// would lose that.
std::string WhyUnreadable(const std::string& name);

// `name`, or, where that is a folder with a config.json or a params.json, that file.
std::string ConfigFileAt(const std::string& name);

// "total_size says ..." of the model.safetensors.index.json next to the config `file`, against
// `parameter_count`; "" where there is none. The size is in bytes, and includes whatever the files
// hold: scales of packed weights, a vision tower, copies.
std::string WeightsIndexWords(const std::string& file, int64_t parameter_count);

// All of file `name`, or of `in` where `name` is "-".
//
// Errors: kNotFound, saying why, where it can't be read; kOutOfRange above `limit_bytes`.
absl::StatusOr<std::string> ReadText(const std::string& name, std::istream& in,
                                     size_t limit_bytes = kMaxRequestBytes);

bool IsUtf8(const std::string& text);

// Writes `text` as `file`, whole: where it fails, the former content stays. Follows a symbolic
// link.
//
// Errors: kFailedPrecondition where `file` is not a regular file, e.g. a device; kUnavailable, with
// the system's message, where it can't be written.
absl::Status WriteText(const std::string& file, const std::string& text);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_IO_TEXT_FILE_H_
