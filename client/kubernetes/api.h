// Kubernetes' API, as far as a controller needs it.
// Source: Kubernetes' documentation, "Kubernetes API Concepts".
#ifndef SEXTANT_CLIENT_KUBERNETES_API_H_
#define SEXTANT_CLIENT_KUBERNETES_API_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::client {

using Json = nlohmann::json;

// Where the API server is, and what shows who calls; empty files: none is used.
struct ApiServer {
  std::string origin;  // "https://10.96.0.1:443"
  std::string ca_file;
  std::string token_file;  // read at each call: Kubernetes renews it
};

// The value at "spec.trainer", names without dots; null where there is none.
const Json& At(const Json& from, absl::string_view path);
// The text there, "" for any other value.
std::string TextAt(const Json& from, absl::string_view path);
// The annotation of that name; "" for none.
std::string Annotation(const Json& object, const char* name);

// "2026-11-30T03:17:16Z", of now.
std::string ApiTime();

// Thread-safe. Its errors: kNotFound; kAlreadyExists; kAborted for a conflict, where the object has
// changed since it was read; kPermissionDenied; kInvalidArgument for what the server refuses; and
// else kUnavailable.
class KubernetesApi {
 public:
  explicit KubernetesApi(ApiServer server) : server_(std::move(server)) {}

  absl::StatusOr<Json> Get(const std::string& path) const { return Call("GET", path, Json()); }
  absl::StatusOr<Json> Create(const std::string& path, const Json& object) const {
    return Call("POST", path, object);
  }
  // Where `object` has a resourceVersion, the object that is there has to have it.
  absl::StatusOr<Json> Replace(const std::string& path, const Json& object) const {
    return Call("PUT", path, object);
  }
  // By RFC 7386.
  absl::StatusOr<Json> Patch(const std::string& path, const Json& object) const {
    return Call("PATCH", path, object);
  }

  // Calls `each` with the objects of the list at `path`, page by page. Returns its
  // resourceVersion.
  absl::StatusOr<std::string> List(const std::string& path,
                                   const std::function<void(const Json&)>& each) const;

  // Watches the list at `path` from `version` on: `each` gets the objects that are new or other
  // than before, `idle` is called about once a second, and returns false to end the watch. Returns
  // the version to go on from, after some minutes. Errors: kOutOfRange: list again.
  absl::StatusOr<std::string> Watch(const std::string& path, std::string version,
                                    const std::function<void(const Json&)>& each,
                                    const std::function<bool()>& idle) const;

  // Writes an event about `object`, of type "Normal" or "Warning": once, however often it is called
  // with the same. What goes wrong with it is of no account.
  void Report(const Json& object, const char* type, const char* reason,
              const std::string& message) const;

 private:
  absl::StatusOr<Json> Call(const char* method, const std::string& path, const Json& object) const;

  const ApiServer server_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_KUBERNETES_API_H_
