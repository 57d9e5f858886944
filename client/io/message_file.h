// Messages as proto JSON, and the files that hold requests or parts of them.
#ifndef SEXTANT_CLIENT_IO_MESSAGE_FILE_H_
#define SEXTANT_CLIENT_IO_MESSAGE_FILE_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::client {

// Proto JSON, empty fields left out, on several lines, the last one ended. Names are in
// lowerCamelCase, and an int64 is a string.
std::string ProtoJson(const google::protobuf::Message& message);

// Converts ReadText()'s error into that of a request that is not sent: INVALID_ARGUMENT, reason
// REQUEST_TOO_LARGE or REQUEST_MALFORMED.
grpc::Status ReadRefusal(const absl::Status& status);

// Reads `file`, or `in` where that is "-", into `*message`, as proto JSON of its type. Where
// `part`, a message within it, is given, a file of that alone is read too.
//
// Errors: as ReadRefusal(), saying what is wrong where.
grpc::Status ReadMessage(const std::string& file, std::istream& in,
                         google::protobuf::Message* message,
                         google::protobuf::Message* part = nullptr);

// Reads a Hugging Face config.json, `file`, one in the folder `file`, or `in` as above, into
// `*text`; the server parses it. `where` names the file in errors.
//
// Errors: as ReadRefusal(): REQUEST_TOO_LARGE above kMaxConfigBytes, or REQUEST_MALFORMED where it
// can't be read, holds no text, or is not UTF-8.
grpc::Status ReadConfig(const std::string& file, const std::string& where, std::istream& in,
                        std::string* text);

// Reads a calibration, `file` or `in` as above. Errors: as ReadRefusal(), naming the file.
grpc::Status ReadCalibrationFile(const std::string& file, std::istream& in, v1::Calibration* out);

// Reads a calibration from `text`: the message itself, as sextant-probe --output writes it, or an
// answer that holds it (GetCalibrationResponse, or a result of RunProbe). Where it names its
// schema_version, fields that this version does not know are ignored: the server decides whether to
// read a newer one.
//
// Errors: kInvalidArgument, saying what is wrong.
absl::StatusOr<v1::Calibration> ReadCalibration(const std::string& text);

// Writes `calibration` as `file`. Errors: as WriteText().
absl::Status SaveCalibration(const std::string& file, const v1::Calibration& calibration);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_IO_MESSAGE_FILE_H_
