#include "client/probe_request.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/enum_names.h"
#include "client/number.h"

namespace sextant {
namespace {

// GPUs that hosts mostly have at most: all are measured where none is named.
constexpr size_t kMostUsualDevices = 8;

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

}  // namespace

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
    const absl::StatusOr<int64_t> value = ParseCount(sizes[i]);
    if (!value.ok()) return value.status();
    values[i] = *value;
  }
  // fp8 is E4M3, which forward passes multiply in.
  const std::string api_type = type == "fp8" ? "fp8_e4m3" : type;
  shape->set_data_type(
      static_cast<v1::DataType>(*EnumNumber(*v1::DataType_descriptor(), api_type)));
  shape->set_m(values[0]);
  shape->set_n(values[1]);
  shape->set_k(values[2]);
  return absl::OkStatus();
}

absl::Status ReadProbeRequest(const ProbeFlags& flags, v1::RunProbeRequest* request) {
  const std::optional<int> mode = EnumNumber(*v1::ProbeMode_descriptor(), flags.mode);
  if (mode.has_value()) request->set_mode(static_cast<v1::ProbeMode>(*mode));
  for (const std::string& uuid : flags.device_uuids) request->add_device_uuids(uuid);
  if (flags.shapes.size() > kMaxShapes) {
    return absl::InvalidArgumentError(absl::StrCat("--matmul: ", flags.shapes.size(),
                                                   " shapes; write at most ", kMaxShapes,
                                                   " and run sextant probe again for the rest"));
  }
  for (const std::string& text : flags.shapes) {
    const absl::Status read = ReadShape(text, flags.data_type, request->add_matmuls());
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

double ProbeTimeoutSeconds(const ProbeFlags& flags) {
  const double device = flags.mode == "full" ? 120 : 60;
  const double shapes = flags.shapes.empty() ? 0 : 300;
  const size_t device_count =
      flags.device_uuids.empty() ? kMostUsualDevices : flags.device_uuids.size();
  return (device + shapes) * static_cast<double>(device_count);
}

}  // namespace sextant
