// A Hugging Face config.json in a file.
#ifndef SEXTANT_CLIENT_CONFIG_FILE_H_
#define SEXTANT_CLIENT_CONFIG_FILE_H_

#include <grpcpp/support/status.h>

#include <istream>
#include <string>

namespace sextant {

// Reads `file`, or `in` where that is "-", into `*text`; what stands in it is the server's to
// read. `where` names the file in errors.
//
// Errors: INVALID_ARGUMENT, reason REQUEST_TOO_LARGE above kMaxConfigBytes, or REQUEST_MALFORMED
// where it can't be read, holds no text, or is not UTF-8.
grpc::Status ReadConfig(const std::string& file, const std::string& where, std::istream& in,
                        std::string* text);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CONFIG_FILE_H_
