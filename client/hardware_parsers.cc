#include "client/hardware_parsers.h"

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "client/command_parts.h"
#include "client/enum_names.h"
#include "client/help_text.h"
#include "client/probe_request.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {
namespace {

// A shape, whatever the type of those that name none.
std::string CheckMatmulShape(const std::string& text) {
  v1::MatmulShape shape;
  return std::string(ReadShape(text, ProbeFlags{}.data_type, &shape).message());
}

// The last word on flags that are each right.
void FinishProbe(const CLI::App& app, CommandLine* line) {
  const absl::Status read = ReadProbeRequest(line->probe, &line->probe_request);
  if (!read.ok()) throw CLI::ValidationError(std::string(read.message()));
  if (app.get_option("--timeout")->empty()) {
    line->server.timeout_seconds = ProbeTimeoutSeconds(line->probe);
  }
  line->command = Command::kProbe;
}

// Takes one value a flag, and the flag again for another.
CLI::Option* Repeatable(CLI::Option* option) { return option->allow_extra_args(false); }

}  // namespace

void AddAccelerators(CLI::App* app, CommandLine* line) {
  CLI::App* list = AddCommand("accelerators", "List the accelerators known, with sources",
                              kAcceleratorsHelp, app);
  list->add_option("NAME", line->accelerator, "a catalogue or product name; default: all");
  list->add_flag("--sources", line->sources, "show every figure with its source");
  list->final_callback([line] { line->command = Command::kAccelerators; });
}

void AddDevices(CLI::App* app, CommandLine* line) {
  AddCommand("devices", "List the devices of the server's host", kDevicesHelp, app)
      ->final_callback([line] { line->command = Command::kDevices; });
}

void AddCalibration(CLI::App* app, CommandLine* line) {
  CLI::App* show =
      AddCommand("calibration", "Show what was measured on a device", kCalibrationHelp, app);
  show->add_option("UUID", line->device_uuid, "a device; host is the processor; default: the only");
  AddChoices(show->add_option("--mode", line->calibration_mode,
                              "the last of this mode; default: the one that plans use"),
             absl::StrJoin(EnumNames(*v1::ProbeMode_descriptor()), "|"));
  show->add_option("--save", line->save_file, "also write it, for plan --calibration")
      ->type_name("FILE");
  show->final_callback([line] { line->command = Command::kCalibration; });
}

void AddProbe(CLI::App* app, CommandLine* line) {
  CLI::App* probe = AddCommand("probe", "Measure devices now; plans then use it", kProbeHelp, app);
  AddChoices(probe->add_option("--mode", line->probe.mode, "how thoroughly; default: standard"),
             absl::StrJoin(EnumNames(*v1::ProbeMode_descriptor()), "|"));
  Repeatable(probe->add_option("--device", line->probe.device_uuids,
                               "one to measure, or host; default: GPUs or else host"))
      ->type_name("UUID");
  CLI::Option* shapes =
      Repeatable(probe->add_option("--matmul", line->probe.shapes,
                                   "time this shape, and no grid; repeatable, up to 16"))
          ->type_name("MxNxK[:TYPE]")
          ->check(Check(CheckMatmulShape));
  AddChoices(probe->add_option("--dtype", line->probe.data_type, "of the shapes that name none")
                 ->capture_default_str()
                 ->needs(shapes),
             kProbeDataTypes);
  probe->final_callback([app, line] { FinishProbe(*app, line); });
}

}  // namespace sextant
