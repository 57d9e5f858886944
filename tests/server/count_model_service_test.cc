// Counts of models over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/server/json_call.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kCountModel[] = "AccountingService/CountModel";

// Mixtral 8x7B.
constexpr char kMixture[] = R"json({
  "hidden_size": 4096, "norm": "NORM_VARIANT_RMS_NORM",
  "embedding": {"vocabulary_size": 32000},
  "layer_kinds": [{
    "name": "experts", "norm": "NORM_VARIANT_RMS_NORM",
    "attention": {"head_count": 32, "key_value_head_count": 8, "query_key_head_size": 128},
    "experts": {"expert_count": 8, "experts_per_token": 2,
                "expert": {"kind": "KIND_GATED", "size": 14336}}}],
  "decoder": {"layers": [{"layer_kind": "experts", "count": 32}]},
  "output": {"head": "OUTPUT_HEAD_UNTIED"}})json";

class CountModelServiceTest : public ::testing::Test {
 protected:
  json Count(const json& request) const { return Ask(server_, kCountModel, request); }
  std::vector<std::string> FaultsOf(const json& request) const {
    return Faults(server_, kCountModel, request);
  }

  const TestServer server_;
  const json mixture_ = json::parse(kMixture);
  const json step_ = {{"sequences", {{{"length", 4096}}}}};
};

// Totals and FLOPs are the hand counts of case D of the reference models.
TEST_F(CountModelServiceTest, CountsAMixtureAsItsHandCountsSay) {
  const json answer = Count({{"model", {{"architecture", mixture_}}},
                             {"step", step_},
                             {"include_components", true},
                             {"include_tensors", true}});
  EXPECT_FALSE(answer.contains("architecture"));
  EXPECT_EQ(answer["model_name"], "architecture");
  EXPECT_EQ(NumberAt(answer, "/parameters/total"), 46'702'792'704);
  EXPECT_EQ(NumberAt(answer, "/parameters/active"), 12'879'925'248);
  EXPECT_EQ(NumberAt(answer, "/parameters/trainable"), 46'702'792'704);
  EXPECT_EQ(NumberAt(answer, "/parameters/embedding"), 2 * 32000 * 4096);
  EXPECT_EQ(answer["layer_kinds"][0]["layer_kind"], "experts");
  EXPECT_EQ(NumberAt(answer, "/layer_kinds/0/layer_count"), 32);
  const json& flops = answer["flops"];
  EXPECT_EQ(NumberAt(flops, "/token_count"), 4096);
  ASSERT_EQ(flops["masks"].size(), 3u);
  EXPECT_EQ(flops["masks"][0]["mask"], "MASK_CONVENTION_FULL");
  EXPECT_EQ(NumberAt(flops, "/masks/0/model_flops_per_token"), 82'933'972'992);
  EXPECT_EQ(NumberAt(flops, "/masks/1/model_flops_per_token"), 79'712'747'520);
  EXPECT_EQ(NumberAt(flops, "/masks/1/model_flops"), 79'712'747'520.0 * 4096);
  double sum = 0;
  for (const json& component : flops["components"]) {
    const json& passes = component["passes"][0];  // as if nothing were masked
    sum += NumberAt(passes, "/forward") + NumberAt(passes, "/input_gradient") +
           NumberAt(passes, "/weight_gradient");
  }
  EXPECT_EQ(sum, 82'933'972'992);
  double tensors = 0;
  for (const json& tensor : answer["tensors"]) tensors += NumberAt(tensor, "/parameter_count");
  EXPECT_EQ(tensors, 46'702'792'704);
  EXPECT_FALSE(answer["engine_version"].get<std::string>().empty());
}

// GPT-2's 50,257 tokens are padded to 393 x 128.
TEST_F(CountModelServiceTest, TellsTheShapeOfAModelWithItsChanges) {
  const json answer =
      Count({{"model", {{"preset", "gpt2"}, {"changes", {{"vocabulary_multiple", 128}}}}},
             {"include_architecture", true}});
  EXPECT_EQ(NumberAt(answer, "/architecture/hidden_size"), 768);
  EXPECT_EQ(NumberAt(answer, "/architecture/embedding/vocabulary_size"), 50'257);
  EXPECT_EQ(NumberAt(answer, "/architecture/embedding/padded_vocabulary_size"), 50'304);
  EXPECT_EQ(NumberAt(answer, "/architecture/decoder/layers/0/count"), 12);
  EXPECT_EQ(NumberAt(answer, "/architecture/decoder/learned_position_count"), 1024);
  EXPECT_EQ(NumberAt(answer, "/architecture/layer_kinds/0/attention/head_count"), 12);
  // The architecture of an answer, sent back, counts the same.
  const json again = Count({{"model", {{"architecture", answer["architecture"]}}}});
  EXPECT_EQ(again["parameters"]["total"], answer["parameters"]["total"]);
}

TEST_F(CountModelServiceTest, SaysWhatEachGpuHolds) {
  const json answer =
      Count({{"model", {{"preset", "llama-3-70b"}}},
             {"layout", {{"tensor_parallel_size", 8}, {"pipeline_parallel_size", 4}}},
             {"include_components", true}});
  ASSERT_EQ(answer["stages"].size(), 4u);
  // 20 layers, and the table: at 18 bytes a parameter, with optimizer state divided by 2, this is
  // the 25.3777 GiB computed by hand for case C of the reference models.
  const double parameters = NumberAt(answer, "/stages/0/parameter_count");
  EXPECT_NEAR(parameters * (6 + 12.0 / 2) / (1 << 30), 25.3777, 5e-5);
  EXPECT_EQ(NumberAt(answer, "/stages/1/layer_count"), 20);
  double sum = 0;
  for (const json& component : answer["stages"][0]["components"]) {
    sum += NumberAt(component, "/parameter_count");
  }
  EXPECT_EQ(sum, parameters);
}

TEST_F(CountModelServiceTest, RefusesWhatHasNoShape) {
  EXPECT_THAT(FaultsOf({{"model", {{"parameter_count", 1000}}}}),
              ElementsAre(HasSubstr("model.parameter_count: has no shapes to count")));
  EXPECT_THAT(FaultsOf({{"model", json::object()}}),
              ElementsAre(HasSubstr(
                  "exactly one of model.preset, model.transformer, model.parameter_count, "
                  "model.hugging_face_config and model.architecture")));
  json unknown;
  const grpc::Status status =
      CallJson(server_, kCountModel, {{"model", {{"preset", "lama-2-7b"}}}}, &unknown);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("llama-2-7b"));
}

TEST_F(CountModelServiceTest, ListsModelsByWordsOfTheirNames) {
  constexpr char kListModels[] = "AccountingService/ListModels";
  const json all = Ask(server_, kListModels, json::object());
  EXPECT_GT(all["models"].size(), 100u);
  const json some = Ask(server_, kListModels, {{"pattern", "LLAMA 3.1 70b"}});
  ASSERT_EQ(some["models"].size(), 1u);
  EXPECT_EQ(some["models"][0]["name"], "llama-3.1-70b");
  EXPECT_EQ(NumberAt(some, "/models/0/parameter_count"), 70'553'706'496);
  EXPECT_EQ(NumberAt(some, "/models/0/layer_count"), 80);
  EXPECT_EQ(NumberAt(some, "/models/0/hidden_size"), 8192);
  const json mixture = Ask(server_, kListModels, {{"pattern", "mixtral-8x7b-v0.1"}});
  EXPECT_EQ(NumberAt(mixture, "/models/0/active_parameter_count"), 12'879'925'248);
  json none;
  const grpc::Status status = CallJson(server_, kListModels, {{"pattern", "lama-9"}}, &none);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

struct CountFault {
  const char* pointer;  // into the request
  json value;
  const char* says;
};

TEST_F(CountModelServiceTest, NamesEachFieldAtFault) {
  const json good = {{"model", {{"architecture", mixture_}, {"changes", json::object()}}},
                     {"step", step_},
                     {"layout", json::object()}};
  const CountFault faults[] = {
      {"/model/architecture/hidden_size", 0, "model.architecture.hidden_size: is required"},
      {"/model/architecture/norm", 17, "model.architecture.norm: is number 17"},
      {"/model/architecture/embedding/embedding_size", 0,
       "model.architecture.embedding.embedding_size: must be at least 1, or left out"},
      {"/model/architecture/decoder/layers/0/layer_kind", "dense",
       "model.architecture.decoder.layers[0].layer_kind: \"dense\" names none of layer_kinds"},
      {"/model/architecture/layer_kinds/0/attention/head_count", 33,
       "model.architecture.layer_kinds[0].attention.key_value_head_count: must divide"},
      {"/model/architecture/layer_kinds/0/attention/mask", 9,
       "model.architecture.layer_kinds[0].attention.mask: is number 9"},
      {"/model/architecture/layer_kinds/0/experts/expert/kind", 0,
       "model.architecture.layer_kinds[0].experts.expert.kind: is required"},
      {"/model/architecture/output/head", 5, "model.architecture.output.head: is number 5"},
      {"/model/changes/frozen_components",
       {"norm", "nrom"},
       "model.changes.frozen_components[1]: \"nrom\" is not a component"},
      {"/model/changes/adapters",
       {{"rank", 4}, {"targets", {"attention.kwery"}}},
       "model.changes.adapters.targets[0]: "},
      {"/step/sequences/0/length", 0, "step.sequences[0].length: "},
      {"/step/recompute", 8, "step.recompute: is number 8"},
      {"/step/expert_capacity_factor", "NaN", "step.expert_capacity_factor: "},
      {"/layout/tensor_parallel_size", 3, "layout.tensor_parallel_size: "},
      {"/layout/tensor_parallel_size", 0, "layout.tensor_parallel_size: "},
      {"/layout/expert_tensor_parallel_size", 0, "layout.expert_tensor_parallel_size: "},
  };
  ASSERT_FALSE(Count(good).is_null());
  for (const CountFault& fault : faults) {
    SCOPED_TRACE(fault.pointer);
    json request = good;
    request[json::json_pointer(fault.pointer)] = fault.value;
    EXPECT_THAT(FaultsOf(request), Contains(HasSubstr(fault.says)));
  }
}

// Corrected one by one, they would take as many calls.
TEST_F(CountModelServiceTest, NamesFaultsOfModelStepAndLayoutTogether) {
  const json changes = {{"frozen_components", {"nosuch"}},
                        {"frozen_layer_count", -1},
                        {"vocabulary_multiple", 0},
                        {"adapters", {{"rank", 0}, {"targets", {"attention.query"}}}}};
  EXPECT_THAT(FaultsOf({{"model", {{"preset", "gpt2"}, {"changes", changes}}},
                        {"step", {{"sequences", {{{"length", -5}}}}}},
                        {"layout", {{"tensor_parallel_size", 5}}}}),
              UnorderedElementsAre(StartsWith("model.changes.frozen_components[0]"),
                                   StartsWith("model.changes.frozen_layer_count"),
                                   StartsWith("model.changes.vocabulary_multiple"),
                                   StartsWith("model.changes.adapters.rank"),
                                   StartsWith("step.sequences[0].length"),
                                   StartsWith("layout.tensor_parallel_size"),
                                   StartsWith("layout.tensor_parallel_size")));
}

// Requests that may take long are answered on the server's own threads.
TEST_F(CountModelServiceTest, AnswersALongRaggedBatch) {
  json groups = json::array();
  for (int i = 1; i <= 5000; ++i) groups.push_back({{"length", i}});
  const json answer =
      Count({{"model", {{"preset", "llama-2-7b"}}}, {"step", {{"sequences", groups}}}});
  EXPECT_EQ(NumberAt(answer, "/flops/token_count"), 5000 * 5001 / 2);
}

}  // namespace
}  // namespace sextant::server
