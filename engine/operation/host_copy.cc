#include "engine/operation/host_copy.h"

#include <algorithm>

namespace sextant {

HostCopyTime TimeOf(const HostCopy& copy) {
  const auto bytes = static_cast<double>(copy.bytes);
  const Seconds link(bytes / copy.link.value());
  if (copy.pinned) return {link, link};
  const Seconds staging(bytes / copy.staging.value());
  return {staging + link, std::max(staging, link)};
}

}  // namespace sextant
