#include <cmath>

#include "tests/server/textbook/questions.h"

namespace sextant::server {
namespace {

using nlohmann::json;

constexpr char kAnalyze[] = "AccountingService/AnalyzeTensor";

json AnalyzeTensors(const TestServer& server, const json& shape,
                    const json& steps = json::array()) {
  return Ask(server, kAnalyze,
             {{"tensor", {{"shape", shape}, {"data_type", "DATA_TYPE_FP32"}}}, {"steps", steps}});
}

// A chain of one step.
json One(const char* step, json fields) { return json::array({json({{step, std::move(fields)}})}); }

json Numbers(const json& texts) {
  json out = json::array();
  for (const json& text : texts) out.push_back(std::stoll(text.get<std::string>()));
  return out;
}

// The shape after `step` with the expression of row `in`.
json ShapeAfter(const TestServer& server, const json& in, const char* step) {
  json expression = {{"expression", in["expr"]}, {"sizes", json::array()}};
  const json axes = in.value("axes", json::object());
  for (const auto& [name, size] : axes.items()) {
    expression["sizes"].push_back({{"name", name}, {"size", size}});
  }
  return Numbers(
      AnalyzeTensors(server, in["shape"], One(step, expression))["steps"][0]["tensor"]["shape"]);
}

AskedQuestion Allocated(json shape, json steps) {
  return [shape = std::move(shape), steps = std::move(steps)](const TestServer& server,
                                                              const json&) -> json {
    return NumberAt(AnalyzeTensors(server, shape, steps), "/allocated_bytes");
  };
}

json TransposedBytes(const TestServer& server, const json&) {
  const json answer = AnalyzeTensors(server, {2, 3}, One("transpose", json::object()));
  EXPECT_FALSE(answer["steps"][0]["tensor"].contains("is_contiguous"));
  EXPECT_EQ(answer["steps"][0]["is_view"], true);
  return NumberAt(answer, "/allocated_bytes");
}

json Check(const TestServer& server, const json& in) {
  return AnalyzeTensors(server, in["shape"],
                        One("check_shape", {{"expression", in["axes"]}}))["steps"][0]["check"];
}

json BoundSizes(const TestServer& server, const json& in) {
  json out;
  const json answer = Check(server, in);
  for (const json& axis : answer["sizes"]) {
    out[axis["name"].get<std::string>()] = std::stoll(axis["size"].get<std::string>());
  }
  return out;
}

json Matches(const TestServer& server, const json& in) {
  return Check(server, in).value("matches", false);
}

json SizeBytes(const TestServer& server, const json& in) {
  return NumberAt(AnalyzeTensors(server, in["shape"]), "/tensor/size_bytes");
}

json FlatIndex(const TestServer& server, const json& in) {
  return NumberAt(AnalyzeTensors(server, in["shape"], One("flat_index", {{"index", in["index"]}})),
                  "/steps/0/storage_position");
}

json TokenFile(const TestServer& server, const json& in) {
  return NumberAt(
      Ask(server, "AccountingService/DescribeTokens",
          {{"token_count", in["tokens"].get<int64_t>()}, {"vocabulary_size", in["vocabulary"]}}),
      "/size_bytes");
}

json BatchOfTokens(const TestServer& server, const json& in) {
  return NumberAt(Ask(server, "AccountingService/DescribeTokens",
                      {{"token_count", in["batch"].get<int64_t>() * in["sequence"].get<int64_t>()},
                       {"bytes_per_id", in["bytes_per_id"]}}),
                  "/size_bytes");
}

json ReadRate(const TestServer& server, const json& in) {
  return NumberAt(Ask(server, "AccountingService/DescribeTokens",
                      {{"token_count", 1},
                       {"bytes_per_id", in["bytes_per_id"]},
                       {"tokens_per_second", in["tokens_per_second"]}}),
                  "/bytes_per_second");
}

}  // namespace

AskedQuestions AskedOfTensors() {
  const json transpose = {{"transpose", json::object()}};
  const json contiguous = {{"contiguous", json::object()}};
  return {
      {"tensor-4x8-fp32", SizeBytes},
      {"gpt3-ffn-matrix-fp32", SizeBytes},
      {"rearrange-split-heads",
       [](const TestServer& s, const json& in) { return ShapeAfter(s, in, "rearrange"); }},
      {"rearrange-merge",
       [](const TestServer& s, const json& in) { return ShapeAfter(s, in, "rearrange"); }},
      {"reduce-sum",
       [](const TestServer& s, const json& in) { return ShapeAfter(s, in, "reduce"); }},
      {"stride-index", FlatIndex},
      {"slice-row-is-view", Allocated({2, 3}, One("select", json::object()))},
      {"transpose-is-view", TransposedBytes},
      {"transpose-contiguous-copies", Allocated({2, 3}, {transpose, contiguous})},
      {"elementwise-allocates", Allocated({4, 8}, One("elementwise", {{"name", "add"}}))},
      {"triu-allocates", Allocated({3, 3}, One("elementwise", {{"name", "triu"}}))},
      {"check-shape-named-axes", BoundSizes},
      {"check-shape-rank-mismatch", Matches},
      {"check-shape-repeated-axis", Matches},
      {"batch-token-bytes", BatchOfTokens},
      {"token-file-15t-large-vocab", TokenFile},
      {"token-file-1t-small-vocab", TokenFile},
      {"token-read-rate", ReadRate},
  };
}

}  // namespace sextant::server
