#include "engine/memory/fit.h"

#include <algorithm>

#include "engine/base/checked_math.h"

namespace sextant {

void DeviceCapacity::Reserve(absl::optional<int64_t> given, Bytes held) {
  taken = !given.has_value() && held > Bytes(0);
  reserved = taken ? std::min(held, usable() - Bytes(1)) : Bytes(given.value_or(0));
}

Fit FitOf(const FitInput& in) {
  Fit out;
  out.total = in.model_state + in.activations;
  out.per_device = Bytes(CeilDivide(out.total.value(), in.device_count));
  out.headroom = in.usable_per_device - out.per_device;
  out.minimum_device_count =
      std::max<int64_t>(1, CeilDivide(out.total.value(), in.usable_per_device.value()));
  // 128 bits: n x usable reaches 1e19, times parameters 1e34.
  __extension__ using Wide = __int128;
  const Wide room = Wide{in.usable_per_device.value()} * in.device_count - in.activations.value();
  if (room > 0) {
    out.largest_parameter_count =
        static_cast<int64_t>(room * in.parameter_count / in.model_state.value());
  }
  return out;
}

}  // namespace sextant
