// Messages in files.
#ifndef SEXTANT_CLIENT_MESSAGE_FILE_H_
#define SEXTANT_CLIENT_MESSAGE_FILE_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <istream>
#include <string>

namespace sextant {

// Reads `file`, or `in` where that is "-", into `*message`, whose type it is in proto JSON.
//
// Errors: INVALID_ARGUMENT, reason REQUEST_MALFORMED, saying what is wrong where; or
// REQUEST_TOO_LARGE above kMaxRequestBytes.
grpc::Status ReadMessage(const std::string& file, std::istream& in,
                         google::protobuf::Message* message);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MESSAGE_FILE_H_
