#include "client/hardware_commands.h"

#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/calibration_file.h"
#include "client/calibration_text.h"
#include "client/connection.h"
#include "client/device_text.h"
#include "client/enum_names.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/interrupt_watch.h"
#include "client/probe_stream.h"
#include "client/progress_bar.h"
#include "client/proto_json.h"

namespace sextant {
namespace {

grpc::Status NoCalibration() {
  return {grpc::StatusCode::INTERNAL, "the answer holds no calibration"};
}

// Prints the events of a probe as they come.
class ProbeEvents {
 public:
  ProbeEvents(const CommandLine& line, const Streams& streams)
      : json_(line.json()), out_(streams.out), bar_(streams.err, streams.err_columns) {}

  void Take(const v1::RunProbeResponse& event) {
    if (event.has_progress()) bar_.Show(event.progress());
    if (!event.result().has_calibration()) return;
    bar_.Erase();
    if (json_) {
      out_ << ProtoJson(event.result());
    } else {
      out_ << (any_ ? "\n" : "") << Printable(ProbeResultText(event.result()));
    }
    out_.flush();
    any_ = true;
  }

  // Erases the progress. Returns whether a calibration came.
  bool Finish() {
    bar_.Erase();
    return any_;
  }

 private:
  const bool json_;
  std::ostream& out_;
  ProgressBar bar_;
  bool any_ = false;
};

int Interrupted(int signal_number, const CommandLine& line, const Streams& streams) {
  Fail({grpc::StatusCode::CANCELLED,
        "interrupted: the server stops the probe and keeps the last calibration"},
       line, streams);
  return kExitSignal + signal_number;
}

}  // namespace

int RunDevices(const CommandLine& line, const Streams& streams) {
  v1::ListDevicesResponse response;
  const grpc::Status status = ListDevices(line.server, {}, &response);
  if (!status.ok()) return Fail(status, line, streams);
  streams.out << (line.json() ? ProtoJson(response) : Printable(DevicesText(response)));
  return kExitFits;
}

int RunCalibration(const CommandLine& line, const Streams& streams) {
  v1::GetCalibrationRequest request;
  request.set_device_uuid(line.device_uuid);
  const std::optional<int> mode = EnumNumber(*v1::ProbeMode_descriptor(), line.calibration_mode);
  if (mode.has_value()) request.set_mode(static_cast<v1::ProbeMode>(*mode));
  v1::GetCalibrationResponse response;
  grpc::Status status = GetCalibration(line.server, request, &response);
  if (status.ok() && !response.has_calibration()) status = NoCalibration();
  if (!status.ok()) return Fail(status, line, streams);
  if (!line.save_file.empty()) {
    const absl::Status saved = SaveCalibration(line.save_file, response.calibration());
    if (!saved.ok()) return FailToWrite(saved, line, streams);
  }
  streams.out << (line.json() ? ProtoJson(response) : Printable(HeldCalibrationText(response)));
  return kExitFits;
}

int RunProbe(const CommandLine& line, const Streams& streams) {
  if (streams.err_columns == 0 && !line.json()) {
    streams.err << "sextant: measuring; the figures follow\n";
  }
  const InterruptWatch watch;
  ProbeEvents events(line, streams);
  grpc::Status status =
      StreamProbe(line.server, line.probe_request, watch.stop_token(),
                  [&events](const v1::RunProbeResponse& event) { events.Take(event); });
  const bool measured = events.Finish();
  if (!status.ok() && watch.signal_number() != 0) {
    return Interrupted(watch.signal_number(), line, streams);
  }
  if (status.ok() && !measured) status = NoCalibration();
  return status.ok() ? int{kExitFits} : Fail(status, line, streams);
}

}  // namespace sextant
