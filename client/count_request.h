// What `sextant count` asks for.
#ifndef SEXTANT_CLIENT_COUNT_REQUEST_H_
#define SEXTANT_CLIENT_COUNT_REQUEST_H_

#include <grpcpp/support/status.h>

#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// One `sextant count`, as it was written.
struct CountCommand {
  std::string model = {};              // a preset's name or a config.json; "" for none
  std::string architecture_file = {};  // "-" for standard input, "" for none
  v1::CountModelRequest request = {};  // what all other flags say
  bool conventions = false;
  bool kaplan = false;
};

// Whether `model` is the file of a config.json, or "-", rather than a preset's name: where there
// is such a file, or the text reads as one's name.
bool IsConfigFile(const std::string& model);

// Reads one more group of sequences, "[COUNTx]LENGTH[:ENCODER_LENGTH]". Ranges are the server's
// to check.
//
// Errors, here and below: kInvalidArgument, saying what to write.
absl::Status AddSequences(absl::string_view text, v1::TrainingStep* step);

// Reads the layers of each chunk, "8x8x7".
absl::Status ReadChunks(absl::string_view text, v1::ParallelLayout* layout);

// Fills `*request` with what `command` asks for, and reads its files, or `in` for "-".
//
// Errors: those of ReadConfig() and ReadMessage().
grpc::Status BuildCountRequest(const CountCommand& command, std::istream& in,
                               v1::CountModelRequest* request);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_COUNT_REQUEST_H_
