// The devices that a request names, found by a caller that knows them.
#ifndef SEXTANT_SERVER_CONVERT_DEVICE_RESOLVER_H_
#define SEXTANT_SERVER_CONVERT_DEVICE_RESOLVER_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/device_model.h"
#include "engine/hardware/device_selection.h"
#include "sextant/v1/device_selector.pb.h"

namespace sextant::server {

class DeviceResolver {
 public:
  virtual ~DeviceResolver() = default;

  // Returns the devices of `wire`, the field `path`; the result's texts point into `wire` and into
  // what the resolver reads. Appends violations that only the wire can have, e.g. an empty list.
  // `maximum_age_seconds` limits the age of measurements of this host's devices.
  virtual DeviceSelection Resolve(const v1::DeviceSelector& wire, absl::string_view path,
                                  absl::optional<double> maximum_age_seconds,
                                  FieldViolations& violations) const = 0;

  // Returns models of this host's measured devices, except those whose last probe had a wrong
  // result.
  virtual std::vector<const DeviceModel*> TrustedModels() const = 0;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_DEVICE_RESOLVER_H_
