// What `sextant op` asks for: the arguments of each kind of operation, read into the request.
#ifndef SEXTANT_CLIENT_OPERATION_REQUEST_H_
#define SEXTANT_CLIENT_OPERATION_REQUEST_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/operation_kinds.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// One `sextant op`, as it was written.
struct OperationCommand {
  const OperationKind* kind = nullptr;
  v1::AnalyzeOperationRequest request = {};
  std::string calibration_file = {};  // "" for none
  bool plot = false;
  std::string svg_file = {};  // "" for none
};

// Reads the first argument: the sizes of `kind`, which has some. Ranges are the server's to
// check, but that a product of sizes is a number at all.
//
// Errors, here and below: kInvalidArgument, saying what to write.
absl::Status ReadSizes(const OperationKind& kind, absl::string_view text,
                       v1::AnalyzeOperationRequest* request);

// Reads the shape of one more operand of an einsum.
absl::Status AddOperand(absl::string_view text, v1::AnalyzeOperationRequest* request);

// Reads one more step of a fused chain, "function[:extra inputs[:FLOPs an element]]".
absl::Status AddChainStep(absl::string_view text, v1::AnalyzeOperationRequest* request);

// Sets the device that `name` names: "host" or a UUID of the server's, else of the catalogue.
void SetDevice(const std::string& name, v1::OperationDevice* device);

// The words of the command line for a field of the request: "--kv-heads", "K of MxKxN",
// "SHAPE 2"; the field itself where there are none.
std::string OperationFieldWords(const OperationKind& kind, const std::string& field);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_OPERATION_REQUEST_H_
