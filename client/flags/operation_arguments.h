// The kinds of operation that `sextant op` takes, one for each of the API's: their arguments and
// flags, reading arguments into the request, and names in errors.
#ifndef SEXTANT_CLIENT_FLAGS_OPERATION_ARGUMENTS_H_
#define SEXTANT_CLIENT_FLAGS_OPERATION_ARGUMENTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/flags/field_flag.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant::client {

struct OperationKind {
  const char* name;         // the API's, "batched-matmul"
  const char* description;  // one line
  const char* sizes;        // the first argument, as help shows it: "MxNxK", "SHAPE", "EXPRESSION"
  const char* sizes_help;   // the meaning of each size
  const char* example;      // the rest of a command, "16384x8192x32768 ..."
};

// All kinds, in the order of the API's fields; a test compares them with the API.
absl::Span<const OperationKind> OperationKinds();

// The path of the kind's message in the request: "operation.matmul".
std::string PathOf(const OperationKind& kind);

// Reads the first argument: the sizes of `kind`, which has some. The server checks ranges, except
// that a product of sizes has to fit in 64 bits.
//
// Errors, here and below: kInvalidArgument, saying what to write.
absl::Status ReadSizes(const OperationKind& kind, absl::string_view text,
                       v1::AnalyzeOperationRequest* request);

// "m=16384, n=8192, k=32768": the sizes of `request` by their names in the API, so that a user sees
// which is which; "" for an einsum.
std::string NamedSizes(const OperationKind& kind, const v1::AnalyzeOperationRequest& request);

// Reads the shape of one more operand of an einsum.
absl::Status AddOperand(absl::string_view text, v1::AnalyzeOperationRequest* request);

// Reads one more step of a fused chain, "function[:extra inputs[:FLOPs an element]]".
absl::Status AddChainStep(absl::string_view text, v1::AnalyzeOperationRequest* request);

// The flags of all kinds: those of one are below its path.
absl::Span<const FieldFlag> OperationFlags();

// Sets the device called `name`: "host" or a UUID of the server's, else a device of the catalogue.
void SetDevice(const std::string& name, v1::DeviceSelector* device);

// The command line's words for a field of the request: "--kv-heads", "K of MxNxK", "SHAPE 2"; the
// field itself where there are none.
std::string OperationFieldWords(const OperationKind& kind, const std::string& field);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_OPERATION_ARGUMENTS_H_
