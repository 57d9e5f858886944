// The run of several files, and what its caller gives in addition to them.
#ifndef SEXTANT_SERVER_LAUNCHER_IMPORT_H_
#define SEXTANT_SERVER_LAUNCHER_IMPORT_H_

#include "absl/status/status.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// Reads the files of `request` in order, adds them up, and completes the request that they make
// with what follows from its devices.
//
// Errors: kInvalidArgument FIELD_INVALID naming every file that is wrong, "files[1].content".
absl::Status ImportRun(const v1::ImportRunRequest& request, v1::ImportRunResponse* response);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_IMPORT_H_
