#include <cctype>

#include "tests/server/textbook/questions.h"

namespace sextant::server {
namespace {

using nlohmann::json;

json Describe(const TestServer& server, const json& in) {
  std::string type = "DATA_TYPE_";
  for (const char c : in["dtype"].get<std::string>()) type += static_cast<char>(std::toupper(c));
  json request = {{"data_type", type}};
  if (in.contains("value")) request["values"] = {in["value"]};
  return Ask(server, "AccountingService/DescribeDataType", request);
}

AskedQuestion DatasheetValue(const char* name) {
  return [pointer = std::string("/format/layouts/0/") + name](const TestServer& server,
                                                              const json& in) -> json {
    return NumberAt(Describe(server, in), pointer);
  };
}

json Rounded(const TestServer& server, const json& in) {
  return NumberAt(Describe(server, in), "/rounded/0/value");
}

json Layout(const TestServer& server, const json& in) {
  const json layout = Describe(server, in)["format"]["layouts"][0];
  return {layout["bits"], layout["exponent_bits"], layout["fraction_bits"]};
}

}  // namespace

AskedQuestions AskedOfNumbers() {
  AskedQuestions out = {{"fp16-1e-8", Rounded}, {"bf16-1e-8-nonzero", Rounded}};
  for (const char* format : {"fp32", "fp16", "bf16", "fp8e4m3", "fp8e5m2"}) {
    out[std::string(format) + "-max"] = DatasheetValue("largest_finite");
  }
  for (const char* format : {"fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2"}) {
    const std::string name = format;
    out[name + "-layout"] = Layout;
    out[name + "-min-normal"] = DatasheetValue("smallest_normal");
    out[name + "-min-subnormal"] = DatasheetValue("smallest_subnormal");
    out[name + "-epsilon"] = DatasheetValue("epsilon");
  }
  return out;
}

}  // namespace sextant::server
