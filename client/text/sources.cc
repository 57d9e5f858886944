#include "client/text/sources.h"

#include "absl/strings/str_cat.h"
#include "client/text/text.h"

namespace sextant::client {

std::string SourceText(const SourceList& sources, int32_t number) {
  if (number < 1 || number > sources.size()) return "";
  return sources.Get(number - 1);
}

std::string SourceText(v1::RateSource kind, const SourceList& sources, int32_t number) {
  const std::string source = SourceText(sources, number);
  return absl::StrCat(EnumName(kind), source.empty() ? "" : ", ", source);
}

std::string DeviceOf(const v1::OperationTime& time) {
  for (const v1::RateUsed& rate : time.rates()) {
    if (!rate.device().empty()) return rate.device();
  }
  return "a device of the given rates";
}

}  // namespace sextant::client
