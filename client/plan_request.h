// The request that a command line asks for.
#ifndef SEXTANT_CLIENT_PLAN_REQUEST_H_
#define SEXTANT_CLIENT_PLAN_REQUEST_H_

#include <grpcpp/support/status.h>

#include <istream>

#include "client/command_line.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// Fills `*request` from --request's file (or `in`, where that is "-") and then from the
// flags, which override. Sets what was given and nothing else: defaults and ranges are
// the server's.
//
// The ways to give a model exclude each other, so a model flag replaces the whole model of
// the file; two model flags both go to the server, which says what is wrong. The ways to
// name devices likewise.
//
// Errors: INVALID_ARGUMENT, reason REQUEST_MALFORMED where a file is not proto JSON of
// its message, REQUEST_TOO_LARGE where it holds more than kMaxRequestBytes, or a config.json
// more than kMaxConfigBytes.
grpc::Status BuildPlanRequest(const CommandLine& line, std::istream& in,
                              v1::PlanRunRequest* request);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PLAN_REQUEST_H_
