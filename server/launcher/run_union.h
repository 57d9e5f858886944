// Runs that files say, added up: the later one counts where two give one field.
#ifndef SEXTANT_SERVER_LAUNCHER_RUN_UNION_H_
#define SEXTANT_SERVER_LAUNCHER_RUN_UNION_H_

#include <string>
#include <vector>

#include "server/launcher/file_format.h"
#include "server/launcher/launched_run.h"
#include "sextant/v1/model.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

struct UnionFile {
  std::string name = {};
  const FileFormat* format = nullptr;
  LauncherRead read = {};
};

struct RunUnion {
  v1::PlanRunRequest request = {};
  std::vector<UnionFile> files = {};  // without what another file, or the caller, gives
  std::vector<std::string> notes = {};
};

// True where one of the ways to give a model is there.
bool GivesModel(const v1::ModelSpec& model);

// Adds up `files` in order, and `caller`, which counts whatever they say. A config.json counts
// before a model's name; values that a file says before those that its program assumes; and
// DeepSpeed and FSDP before the trainer that starts them.
RunUnion UnionOf(std::vector<UnionFile> files, const v1::PlanRunRequest& caller);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_RUN_UNION_H_
