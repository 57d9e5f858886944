// Runs written for launchers, as the API asks for them.
#ifndef SEXTANT_SERVER_LAUNCHER_EXPORT_H_
#define SEXTANT_SERVER_LAUNCHER_EXPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "sextant/v1/architecture.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// Checks what `request` says of its launcher alone. Puts the run to plan for it into `*out`.
//
// Errors: kInvalidArgument FIELD_INVALID.
absl::Status CheckExport(const v1::ExportRunRequest& request, v1::ExportRunResponse* out);

// Parts of a launcher's file that a request does not say.
struct ExportedModel {
  v1::Architecture shape = {};  // without request.model.changes
  std::string name = {};
  int64_t devices_per_node = 0;  // 0: not known
};

// Writes the first layout that the launcher can express, after CheckExport(). Errors: as that.
absl::Status ExportRun(const v1::ExportRunRequest& request, const ExportedModel& model,
                       v1::ExportRunResponse* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_EXPORT_H_
