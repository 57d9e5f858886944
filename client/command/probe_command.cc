// `sextant probe`: measures devices now; plans then use the result.
#include <grpcpp/client_context.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/words.h"
#include "client/io/message_file.h"
#include "client/io/watched_call.h"
#include "client/report/hardware_text.h"
#include "client/text/text.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kProbeHelp[] =
    "Without --device it measures the server's GPUs, or its processor (host) where it has none.\n"
    "Takes about 2 s (quick), 5 s (standard) or 30 s (full) a device, which is busy meanwhile.\n"
    "Plans use the result from then on; with --matmul it is only shown. Ctrl-C stops the probe.\n"
    "Waits 60 s a device (full: 120), 300 s more with --matmul, unless --timeout says otherwise;\n"
    "without --device as for eight.\n"
    "With --output=json each device's result is an object of its own.\n"
    "\n"
    "Examples:\n"
    "  sextant probe\n"
    "  sextant probe --mode=full --device=host\n"
    "  How long does this multiplication take, and how near to the peak is it?\n"
    "    sextant probe --matmul=4096x4096x4096 --matmul=1024x1024x1024:int8 --dtype=fp32\n";

// The data types that a shape may have, as --help shows them.
constexpr char kProbeDataTypes[] = "bf16|fp64|fp32|tf32|fp16|int8|fp8|mxfp8|nvfp4";

// The most shapes that one call takes.
constexpr size_t kMaxShapes = 16;

// The flags, each as it was written.
struct ProbeFlags {
  std::string mode;  // "" for the server's default
  std::vector<std::string> devices;
  std::vector<std::string> shapes;  // "MxNxK" or "MxNxK:TYPE"
  std::string data_type = "bf16";   // of the shapes that name none: training's default
};

// The most GPUs that hosts usually have: all are measured where none is named.
constexpr size_t kMaxUsualDevices = 8;

absl::Status NoShape(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" ", why,
                                                 "; write MxNxK or MxNxK:TYPE, such as ",
                                                 "16384x32768x8192:bf16 (", kProbeDataTypes, ")"));
}

// Digits alone: "4K" could mean 4000 as well as 4096.
bool IsWhole(absl::string_view text) {
  return !text.empty() && absl::c_all_of(text, [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// Reads one shape: whole numbers, "16384x32768x8192", with its data type after a colon or else
// `data_type`. The server checks ranges.
absl::Status ReadShape(absl::string_view text, absl::string_view data_type,
                       v1::MatmulShape* shape) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const bool typed = absl::c_linear_search(text, ':');
  const std::string type = absl::AsciiStrToLower(typed ? parts.second : data_type);
  const std::vector<std::string> types = absl::StrSplit(kProbeDataTypes, '|');
  if (!absl::c_linear_search(types, type)) return NoShape(text, "has no data type known here");
  const std::vector<absl::string_view> sizes = absl::StrSplit(parts.first, 'x');
  if (sizes.size() != 3 || !absl::c_all_of(sizes, IsWhole)) {
    return NoShape(text, "is not three whole numbers");
  }
  int64_t values[3] = {};
  for (size_t i = 0; i < sizes.size(); ++i) {
    const absl::StatusOr<int64_t> value = ParseLength(sizes[i]);
    if (!value.ok()) return value.status();
    values[i] = *value;
  }
  // fp8 means E4M3, the type of forward passes.
  const std::string api_type = type == "fp8" ? "fp8_e4m3" : type;
  shape->set_data_type(
      static_cast<v1::DataType>(*EnumNumber(*v1::DataType_descriptor(), api_type)));
  shape->set_m(values[0]);
  shape->set_n(values[1]);
  shape->set_k(values[2]);
  return absl::OkStatus();
}

// The request that `flags` ask for.
absl::Status ReadProbeRequest(const ProbeFlags& flags, v1::RunProbeRequest* request) {
  const std::optional<int> mode = EnumNumber(*v1::ProbeMode_descriptor(), flags.mode);
  if (mode.has_value()) request->set_mode(static_cast<v1::ProbeMode>(*mode));
  for (const std::string& name : flags.devices) request->add_devices(name);
  if (flags.shapes.size() > kMaxShapes) {
    return absl::InvalidArgumentError(absl::StrCat("--matmul: ", flags.shapes.size(),
                                                   " shapes; write at most ", kMaxShapes,
                                                   " and run sextant probe again for the rest"));
  }
  for (const std::string& text : flags.shapes) {
    absl::Status read = ReadShape(text, flags.data_type, request->add_matmuls());
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

// Seconds to wait for the call where the user gives no timeout: more than the server allows its
// probes, for eight devices where none is named.
double ProbeTimeoutSeconds(const ProbeFlags& flags) {
  const double device = flags.mode == "full" ? 120 : 60;
  const double shapes = flags.shapes.empty() ? 0 : 300;
  const size_t device_count = flags.devices.empty() ? kMaxUsualDevices : flags.devices.size();
  return (device + shapes) * static_cast<double>(device_count);
}

// Passes each message of the answer to `on_event`, in order, and returns once the call has ended. A
// request to stop, from any thread, cancels the call; the server then stops its probe.
grpc::Status StreamProbe(const ServerAddress& server, const v1::RunProbeRequest& request,
                         const std::stop_token& stop,
                         const std::function<void(const v1::RunProbeResponse&)>& on_event) {
  const auto stub = v1::HardwareService::NewStub(NewChannel(server));
  grpc::ClientContext context;
  PrepareContext(server, &context);
  const auto reader = stub->RunProbe(&context, request);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  for (v1::RunProbeResponse event; reader->Read(&event);) on_event(event);
  return reader->Finish();
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

  // Erases the progress. Returns true where a calibration came.
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

// Prints each calibration as it comes, so that an error does not lose those before it.
int RunProbe(const v1::RunProbeRequest& request, const CommandLine& line, const Streams& streams) {
  if (line.server.prints_requests) return Fail(Printed(request), line, streams);
  if (streams.err_columns == 0 && !line.json()) {
    streams.err << "sextant: measuring; the figures follow\n";
  }
  const InterruptWatch watch;
  ProbeEvents events(line, streams);
  grpc::Status status =
      StreamProbe(line.server, request, watch.stop_token(),
                  [&events](const v1::RunProbeResponse& event) { events.Take(event); });
  const bool measured = events.Finish();
  if (!status.ok() && watch.signal_number() != 0) {
    status = Interrupted(watch.signal_number(),
                         "the server stops the probe and keeps the last calibration");
  }
  if (status.ok() && !measured) status = Incomplete("calibration");
  return status.ok() ? int{kExitFits} : Fail(status, line, streams);
}

void AddProbeFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<ProbeFlags>();
  const auto request = std::make_shared<v1::RunProbeRequest>();
  AddChoices(command->add_option("--mode", flags->mode, "how thoroughly; default: standard"),
             absl::StrJoin(EnumNames(*v1::ProbeMode_descriptor()), "|"));
  command
      ->add_option("--device", flags->devices,
                   "one to measure, or host; default: GPUs or else host")
      ->allow_extra_args(false)
      ->type_name("UUID");
  // Checks a shape, whatever the type of shapes that name none.
  const auto check_shape = [](const std::string& text) {
    v1::MatmulShape shape;
    return std::string(ReadShape(text, ProbeFlags{}.data_type, &shape).message());
  };
  CLI::Option* shapes = command
                            ->add_option("--matmul", flags->shapes,
                                         "time this shape, and no grid; repeatable, up to 16")
                            ->allow_extra_args(false)
                            ->type_name("MxNxK[:TYPE]")
                            ->check(check_shape);
  AddChoices(command->add_option("--dtype", flags->data_type, "of the shapes that name none")
                 ->capture_default_str()
                 ->needs(shapes),
             kProbeDataTypes);
  const auto check = [command, flags, request, line] {
    const absl::Status read = ReadProbeRequest(*flags, request.get());
    if (!read.ok()) throw CLI::ValidationError(std::string(read.message()));
    WaitFor(ProbeTimeoutSeconds(*flags), *command, line);
  };
  OnceRead(command, line, request, RunProbe, {.check = check});
}

}  // namespace

const Command kProbeCommand = {"probe", "Measure devices now; plans then use it", kProbeHelp,
                               AddProbeFlags};

}  // namespace sextant::client
