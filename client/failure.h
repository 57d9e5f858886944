// How a command that failed ends.
#ifndef SEXTANT_CLIENT_FAILURE_H_
#define SEXTANT_CLIENT_FAILURE_H_

#include <grpcpp/support/status.h>

#include "client/command_line.h"
#include "client/streams.h"

namespace sextant {

// Prints why a call failed, `status` not being OK, with a hint where gRPC itself reports it,
// and returns the exit code.
int Fail(const grpc::Status& status, const CommandLine& line, const Streams& streams);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_FAILURE_H_
