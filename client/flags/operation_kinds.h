// The kinds of operation that `sextant op` takes, one for each of the API's.
#ifndef SEXTANT_CLIENT_FLAGS_OPERATION_KINDS_H_
#define SEXTANT_CLIENT_FLAGS_OPERATION_KINDS_H_

#include "absl/types/span.h"

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

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_OPERATION_KINDS_H_
