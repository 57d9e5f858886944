// A host's probe without the wire: a script takes the place of sextant-probe.
#ifndef SEXTANT_TESTS_SERVER_SCRIPTED_PROBE_HOST_H_
#define SEXTANT_TESTS_SERVER_SCRIPTED_PROBE_HOST_H_

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "server/probe/host_probe.h"
#include "tests/server/fake_probe.h"

namespace sextant::server {

// A host whose probe lists `devices` and, asked to measure, runs `commands`.
class ScriptedProbeHost {
 public:
  explicit ScriptedProbeHost(const std::string& commands,
                             std::vector<v1::Device> devices = {FakeDevice()},
                             const std::string& library_folder = "")
      : store_(folder_.File("calibrations")),
        metrics_(registry_, ProbeMetricsSet::kFull),
        probe_({.path = WriteScript(folder_, "probe", ListsAnd(commands, devices)),
                .library_folder = library_folder},
               store_, metrics_) {}

  struct Outcome {
    absl::Status status;
    std::vector<v1::RunProbeResponse> responses;
  };

  std::future<Outcome> Start(
      const v1::RunProbeRequest& request, std::shared_ptr<Cancellation> cancellation,
      const SendProbeResponse& also = [](const auto&) {}) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    auto outcome = std::make_shared<Outcome>();
    probe_.Run({.request = request,
                .cancellation = std::move(cancellation),
                .send =
                    [outcome, also](const auto& r) {
                      outcome->responses.push_back(r);
                      also(r);
                    },
                .end =
                    [outcome, promise](const absl::Status& status) {
                      outcome->status = status;
                      promise->set_value(*outcome);
                    }});
    return promise->get_future();
  }

  Outcome Run(const v1::RunProbeRequest& request = {}) {
    return Start(request, std::make_shared<Cancellation>()).get();
  }

  // True where /metrics would contain the line.
  bool Counts(const std::string& line) const {
    const std::string text = prometheus::TextSerializer().Serialize(registry_.Collect());
    return absl::StrContains(text, line + "\n");
  }

  const TemporaryFolder& folder() const { return folder_; }
  CalibrationStore& store() { return store_; }
  HostProbe& probe() { return probe_; }

 private:
  TemporaryFolder folder_;
  prometheus::Registry registry_;
  CalibrationStore store_;
  ProbeMetrics metrics_;
  HostProbe probe_;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_SCRIPTED_PROBE_HOST_H_
