// `sextant probe`: measures devices now; plans then use the result.
#ifndef SEXTANT_CLIENT_COMMAND_PROBE_COMMAND_H_
#define SEXTANT_CLIENT_COMMAND_PROBE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::client {

// The data types that a shape may have, as --help shows them.
inline constexpr char kProbeDataTypes[] = "bf16|fp64|fp32|tf32|fp16|int8|fp8|mxfp8|nvfp4";

// The most shapes that one call takes.
inline constexpr size_t kMaxShapes = 16;

// The flags, each as it was written.
struct ProbeFlags {
  std::string mode = {};  // "" for the server's default
  std::vector<std::string> devices = {};
  std::vector<std::string> shapes = {};  // "MxNxK" or "MxNxK:TYPE"
  std::string data_type = "bf16";        // of the shapes that name none: training's default
};

// Reads one shape: whole numbers, "16384x32768x8192", with its data type after a colon or else
// `data_type`. The server checks ranges.
//
// Errors: kInvalidArgument, saying what to write.
absl::Status ReadShape(absl::string_view text, absl::string_view data_type, v1::MatmulShape* shape);

// The request that `flags` ask for. Errors: as ReadShape; kInvalidArgument above kMaxShapes.
absl::Status ReadProbeRequest(const ProbeFlags& flags, v1::RunProbeRequest* request);

// Seconds to wait for the call where the user gives no timeout: more than the server allows its
// probes, for eight devices where none is named.
double ProbeTimeoutSeconds(const ProbeFlags& flags);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_PROBE_COMMAND_H_
