#include <vector>

#include "engine/tensor/number_format.h"
#include "engine/tensor/rounding.h"
#include "engine/tensor/storage.h"
#include "tests/golden/textbook_questions.h"

namespace sextant {
namespace {

using nlohmann::json;

DataType TypeNamed(const json& in) {
  const auto name = in.at("dtype").get<std::string>();
  for (const NumberFormat& format : NumberFormats()) {
    if (name == std::string(DataTypeName(format.type))) return format.type;
  }
  return DataType::kUnspecified;
}

const FloatLayout& LayoutOf(const json& in) {
  return FindNumberFormat(TypeNamed(in)).value()->layouts.front();
}

json Layout(const json& in) {
  const FloatLayout& layout = LayoutOf(in);
  return {layout.bits(), layout.exponent_bits, layout.fraction_bits};
}

json Rounded(const json& in) { return RoundTo(TypeNamed(in), in.at("value")).value().value; }

json TensorSize(const json& in) {
  const auto shape = in.at("shape").get<std::vector<int64_t>>();
  return TensorBytes(TypeNamed(in), shape).value().value();
}

json BatchSize(const json& in) {
  const int64_t tokens = in.at("batch").get<int64_t>() * in.at("sequence").get<int64_t>();
  return TokenBytes(tokens, in.at("bytes_per_id")).value().value();
}

json TokenFileSize(const json& in) {
  const auto tokens = static_cast<int64_t>(in.at("tokens").get<double>());
  return TokenBytes(tokens, TokenIdBytes(in.at("vocabulary")).value()).value().value();
}

// Bytes read each second.
json TokenReadRate(const json& in) {
  const auto tokens = static_cast<int64_t>(in.at("tokens_per_second").get<double>());
  return TokenBytes(tokens, in.at("bytes_per_id")).value().value();
}

}  // namespace

TextbookQuestions NumberQuestions() {
  TextbookQuestions out = {
      {"fp32-max", [](const json& in) { return LargestFinite(LayoutOf(in)); }},
      {"fp16-max", [](const json& in) { return LargestFinite(LayoutOf(in)); }},
      {"bf16-max", [](const json& in) { return LargestFinite(LayoutOf(in)); }},
      {"fp8e4m3-max", [](const json& in) { return LargestFinite(LayoutOf(in)); }},
      {"fp8e5m2-max", [](const json& in) { return LargestFinite(LayoutOf(in)); }},
      {"fp16-1e-8", Rounded},
      {"bf16-1e-8-nonzero", Rounded},
      {"tensor-4x8-fp32", TensorSize},
      {"gpt3-ffn-matrix-fp32", TensorSize},
      {"batch-token-bytes", BatchSize},
      {"token-file-15t-large-vocab", TokenFileSize},
      {"token-file-1t-small-vocab", TokenFileSize},
      {"token-read-rate", TokenReadRate},
  };
  for (const std::string type : {"fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2"}) {
    out[type + "-layout"] = Layout;
    out[type + "-min-normal"] = [](const json& in) { return SmallestNormal(LayoutOf(in)); };
    out[type + "-min-subnormal"] = [](const json& in) { return SmallestSubnormal(LayoutOf(in)); };
    out[type + "-epsilon"] = [](const json& in) { return Epsilon(LayoutOf(in)); };
  }
  return out;
}

}  // namespace sextant
