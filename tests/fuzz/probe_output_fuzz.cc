// Probes that write any bytes: no crash and no hang, and what is sent to the caller has finite
// numbers alone. An output that is refused, or a probe that fails, has one of the API's reasons.
#include <google/protobuf/stubs/logging.h>
#include <prometheus/registry.h>

#include <string>

#include "engine/base/reason.h"
#include "server/call/status.h"
#include "server/handler/device_answers.h"
#include "server/probe/probe_events.h"
#include "server/probe/probe_recorder.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/possible_answer.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

// A pipe's pieces end anywhere.
absl::Status AddInPieces(absl::string_view bytes, ProbeOutput& output) {
  for (size_t size = 1; !bytes.empty(); size = size * 7 % 1021) {
    const absl::Status added = output.Add(bytes.substr(0, size));
    if (!added.ok()) return added;
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
  return output.End(absl::OkStatus());
}

void Take(absl::string_view bytes) {
  static auto& registry = *new prometheus::Registry();
  static auto& metrics = *new ProbeMetrics(registry, ProbeMetricsSet::kFull);
  static const auto& device = *new v1::Device(SampleCalibration().device());
  CalibrationStore store("", device.hostname());
  store.SetDevices({device});
  const RecordedDevice recorded = {.uuid = device.uuid()};
  const SendProbeResponse send = RequirePossible;
  ProbeRecorder recorder(recorded, store, metrics, send);
  ProbeOutput output([&](const v1::ProbeEvent& event) { return recorder.Record(event); });
  const absl::Status end = AddInPieces(bytes, output);
  if (end.ok()) return recorder.Keep();
  const std::string reason = ReasonOf(end);
  Require(reason == "PROBE_FAILED" || reason == "PROBE_TIMEOUT" || reason == "PROBE_REFUSED",
          end.ToString());
  const grpc::Status wire = ToGrpcStatus(end, "");
  Require(wire.error_code() != grpc::StatusCode::INTERNAL && wire.error_details().size() <= 4096,
          "details are too long: " + end.ToString());
}

}  // namespace
}  // namespace sextant::server

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool is_quiet = (google::protobuf::SetLogHandler(nullptr), true);
  (void)is_quiet;
  sextant::server::Take({reinterpret_cast<const char*>(data), size});
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return sextant::MutateJson(sextant::v1::ProbeEvent::default_instance(),
                             sextant::JsonText::kAMessagePerLine, data, size, max_size, seed);
}
