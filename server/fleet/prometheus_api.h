// Instant queries to a Prometheus, or to anything that speaks its HTTP API: Thanos, Mimir, Cortex.
#ifndef SEXTANT_SERVER_FLEET_PROMETHEUS_API_H_
#define SEXTANT_SERVER_FLEET_PROMETHEUS_API_H_

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

struct PrometheusOptions {
  std::string url = {};         // "https://prometheus.example:9090/prefix"
  std::string ca_file = {};     // PEM; empty: the system's
  std::string token_file = {};  // read anew for each query, sent as a bearer token; empty: none
  std::string tenant = {};      // sent as X-Scope-OrgID; empty: none
};

// One element of an instant vector.
struct PrometheusSample {
  std::map<std::string, std::string, std::less<>> labels = {};
  double value = 0;

  // Empty where it has no such label.
  absl::string_view Label(absl::string_view name) const;
};

// Thread-safe.
class PrometheusApi {
 public:
  // Errors: kInvalidArgument naming the flag where `options.url` is no URL of http or https, or
  // holds a password.
  static absl::StatusOr<std::unique_ptr<const PrometheusApi>> Of(const PrometheusOptions& options);

  // Posts `promql` and reads an instant vector of at most 64 MiB, all within `limit` but for the
  // lookup of the host's name.
  //
  // Errors, all of text that may be shown to callers: kUnavailable where it can't be reached or
  // answers 502 to 504; kDeadlineExceeded; kPermissionDenied for 401 and 403; kFailedPrecondition
  // with its own words for another refusal, or for an answer with warnings, which may be
  // incomplete; kDataLoss for an answer that is none.
  absl::StatusOr<std::vector<PrometheusSample>> Query(const std::string& promql,
                                                      std::chrono::milliseconds limit) const;

 private:
  explicit PrometheusApi(PrometheusOptions options) : options_(std::move(options)) {}

  PrometheusOptions options_;
  std::string origin_;  // "https://prometheus.example:9090"
  std::string path_;    // "/prefix/api/v1/query"
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_FLEET_PROMETHEUS_API_H_
