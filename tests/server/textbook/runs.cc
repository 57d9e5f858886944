// Questions for calls about one run, and for datasheets.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/server/textbook/questions.h"

namespace sextant::server {
namespace {

using nlohmann::json;

constexpr double kGib = 1024.0 * 1024 * 1024;

// A run of that many parameters and tokens on one H100.
json Run(const json& parameters, const json& tokens) {
  return {{"model", {{"parameter_count", static_cast<int64_t>(parameters.get<double>())}}},
          {"training", {{"token_count", static_cast<int64_t>(tokens.get<double>())}}},
          {"cluster", {{"device", {{"accelerator", "h100-sxm"}}}, {"device_count", 1}}},
          {"options", {{"view", "PLAN_VIEW_FULL"}}}};
}

json Plan(const TestServer& server, const json& run) {
  return Ask(server, "PlanningService/PlanRun", run)["plan"];
}

double RunFlops(const json& plan) { return NumberAt(plan, "/flops/counts/0/flops"); }

json SixNd(const TestServer& server, const json& in) {
  return RunFlops(Plan(server, Run(in["N"], in["D"])));
}

json WithPeak(json run, const json& in) {
  run["cluster"]["device_count"] = in["gpus"];
  run["cluster"]["peak_flops_per_second"] = in["peak_flops"];
  run["options"]["assumed_mfu"] = in["mfu"];
  return run;
}

// By the textbook, which comes after the lower bound.
double DaysOf(const json& plan) {
  EXPECT_EQ(plan["estimates"][1]["kind"], "ESTIMATE_KIND_TEXTBOOK");
  return NumberAt(plan, "/estimates/1/duration_seconds/expected") / 86400;
}

// Several runs are planned in a BASIC view alone.
json Basic(json run) {
  run["options"].erase("view");
  return run;
}

// Asked backwards, too: the devices that take no longer.
json Days(const TestServer& server, const json& in) {
  const json run = WithPeak(Run(in["N"], in["D"]), in);
  const double days = DaysOf(Plan(server, run));
  json sized = Basic(run);
  sized["cluster"].erase("device_count");
  const json fewest =
      Ask(server, "PlanningService/SizeCluster",
          {{"run", sized},
           {"max_duration", absl::StrCat(static_cast<int64_t>(std::ceil(days * 86400)), "s")}});
  EXPECT_EQ(NumberAt(fewest, "/clusters/0/device_count"), in["gpus"].get<double>());
  return days;
}

// In one call, with the models that they buy.
json FlopsOfAWeek(const TestServer& server, const json& in) {
  const json answer = Ask(server, "PlanningService/AllocateCompute",
                          {{"cluster",
                            {{"device", {{"accelerator", "h100-sxm"}}},
                             {"device_count", in["gpus"]},
                             {"peak_flops_per_second", in["peak_flops"]}}},
                           {"duration", "604800s"},
                           {"assumed_mfu", in["mfu"]}});
  EXPECT_EQ(answer["allocations"].size(), 6u);
  return NumberAt(answer, "/budget/flops");
}

json LargestModel(const TestServer& server, const json& in) {
  json run = Run(1e9, 1);
  run["cluster"]["device_count"] = in["gpus"];
  run["cluster"]["device_memory_bytes"] = static_cast<int64_t>(in["bytes_per_gpu"].get<double>());
  json sized = Basic(run);
  sized.erase("model");
  const json model = Ask(server, "PlanningService/SizeModel", {{"run", sized}});
  const double largest = NumberAt(Plan(server, run), "/memory/state/largest_parameter_count");
  EXPECT_EQ(NumberAt(model, "/parameter_count"), largest);
  return largest;
}

AskedQuestion State(const char* compute) {
  return [compute](const TestServer& server, const json& in) -> json {
    json run = Run(in["N"], 1);
    run["training"]["precision"]["compute_data_type"] = absl::StrCat("DATA_TYPE_", compute);
    return NumberAt(Plan(server, run), "/memory/state/state_bytes");
  };
}

double TermBytes(const json& plan, const std::string& name) {
  for (const json& term : plan["memory"]["state"]["terms"]) {
    if (term["name"] == name) return NumberAt(term, "/size_bytes");
  }
  return std::nan("");
}

AskedQuestion TermGib(const char* name) {
  return [name](const TestServer& server, const json& in) -> json {
    return TermBytes(Plan(server, Run(in["N"], 1)), name) / kGib;
  };
}

json WithActivations(double gib) {
  json run = Run(7e9, 1);
  run["training"]["activation_bytes"] = static_cast<int64_t>(gib * kGib);
  return run;
}

json BudgetTotal(const TestServer& server, const json& in) {
  return NumberAt(Plan(server, WithActivations(in["activations_gib"])),
                  "/memory/state/total_bytes") /
         kGib;
}

json BudgetDevices(const TestServer& server, const json& in) {
  json run = WithActivations(8);
  run["cluster"]["device_memory_bytes"] = static_cast<int64_t>(in["gpu_gib"].get<double>() * kGib);
  return NumberAt(Plan(server, run), "/memory/state/minimum_device_count");
}

// The rate of the matrix units where they support the type.
AskedQuestion Peak(const char* name, const char* type) {
  return [name, type](const TestServer& server, const json&) -> json {
    const json answer = Ask(server, "HardwareService/ListAccelerators", {{"name", name}});
    double peak = 0;
    for (const json& rate : answer["accelerators"][0]["peak_rates"]) {
      if (rate["data_type"] == type)
        peak = std::max(peak, NumberAt(rate, "/flops_per_second/value"));
    }
    return peak;
  };
}

// A model whose feed-forward has two matrices a layer, or three.
json FeedForward(const json& in, bool gated) {
  json run = Run(1, 1);
  run["model"] = {
      {"transformer",
       {{"layer_count", 1},
        {"hidden_size", in["rows"]},
        {"attention_head_count", 32},
        {"feed_forward_size", in["columns"]},
        {"vocabulary_size", 1000},
        {"norm_kind", "NORM_KIND_RMS_NORM"},
        {"feed_forward_kind", gated ? "FEED_FORWARD_KIND_GATED" : "FEED_FORWARD_KIND_PLAIN"}}}};
  return run;
}

// Optimizer bytes of one matrix of `in`: the difference between models with and without one more
// matrix.
double StateOfOneMatrix(const TestServer& server, const json& in, const char* kind) {
  double bytes = 0;
  for (const bool gated : {true, false}) {
    json run = FeedForward(in, gated);
    run["training"]["optimizer"]["kind"] = kind;
    const json answer = Plan(server, run);
    for (const json& term : answer["memory"]["state"]["terms"]) {
      const std::string name = term["name"];
      if (name == "weight" || name == "gradient" || name == "master_weight") continue;
      bytes += (gated ? 1 : -1) * NumberAt(term, "/size_bytes");
    }
  }
  return bytes;
}

json AdafactorElements(const TestServer& server, const json& in) {
  return StateOfOneMatrix(server, in, "KIND_ADAFACTOR") / 4;
}

json MuonBuffers(const TestServer& server, const json&) {
  const json matrix = {{"rows", 4096}, {"columns", 14336}};
  return StateOfOneMatrix(server, matrix, "KIND_MUON") / 4 / (4096.0 * 14336);
}

json EightBitAdamBytes(const TestServer& server, const json& in) {
  json run = Run(in["N"], 1);
  run["training"]["optimizer"] = {{"kind", "KIND_ADAM_8BIT"},
                                  {"quantization_block_size", in["block"]}};
  double bytes = 0;
  const json answer = Plan(server, run);
  for (const json& term : answer["memory"]["state"]["terms"]) {
    if (term["data_type"] == "DATA_TYPE_INT8") bytes += NumberAt(term, "/size_bytes");
  }
  return bytes;
}

json CheckpointOf(const TestServer& server, const json& run) {
  return Plan(server, run)["whole_run"]["checkpoint"];
}

json CheckpointBytes(const TestServer& server, const json& in) {
  return NumberAt(CheckpointOf(server, Run(in["N"], 1)), "/size_bytes");
}

json CheckpointWeightBytes(const TestServer& server, const json& in) {
  const json checkpoint = CheckpointOf(server, Run(in["N"], 1));
  EXPECT_EQ(checkpoint["terms"][0]["name"], "weight");
  return NumberAt(checkpoint, "/terms/0/size_bytes");
}

// 14 bytes a parameter.
json CheckpointWriteSeconds(const TestServer& server, const json& in) {
  json run = Run(in["bytes"].get<double>() / 14, 1);
  run["interruptions"]["checkpoint_write_bytes_per_second"] = in["bytes_per_second"];
  return NumberAt(CheckpointOf(server, run), "/write_seconds");
}

// One device that fails once in that time, and 14e9 bytes written in that time.
json CheckpointInterval(const TestServer& server, const json& in) {
  json run = Run(1e9, 1);
  run["interruptions"] = {
      {"failures_per_device_hour", 3600 / in["mtbf_seconds"].get<double>()},
      {"checkpoint_write_bytes_per_second", 14e9 / in["write_seconds"].get<double>()}};
  return NumberAt(CheckpointOf(server, run), "/young_interval_seconds");
}

// Kaplan's N leaves out biases and norms, which GPT-3 has.
AskedQuestion Gpt3(std::vector<std::string> components) {
  return [components](const TestServer& server, const json&) -> json {
    json run = Run(1, 1);
    run["model"] = {{"preset", "gpt3-175b"}};
    double sum = 0;
    const json answer = Plan(server, run);
    for (const json& part : answer["parameters"]["components"]) {
      for (const std::string& name : components) {
        if (part["name"] == name) sum += NumberAt(part, "/parameter_count");
      }
    }
    return sum;
  };
}

// The first row of Kaplan's table, of GPT-3.
json Gpt3EmbedFlops(const TestServer& server, const json&) {
  const json answer =
      Ask(server, "AccountingService/CountModel",
          {{"model", {{"preset", "gpt3-175b"}}}, {"step", {{"sequences", {{{"length", 2048}}}}}}});
  EXPECT_EQ(answer["flops"]["kaplan_table"][0]["name"], "embed");
  return NumberAt(answer, "/flops/kaplan_table/0/flops_per_token");
}

}  // namespace

AskedQuestions AskedOfRuns() {
  return {
      {"6nd-7b-2t", SixNd},
      {"6nd-70b-15t", SixNd},
      {"gpt3-total-flops", SixNd},
      {"days-70b-15t-1024-h100", Days},
      {"largest-model-8xh100-adamw", LargestModel},
      {"week-8xh100-flops", FlopsOfAWeek},
      {"state-7b-fp32-adam", State("FP32")},
      {"state-1b-fp32-adam", State("FP32")},
      {"state-70b-mixed-adamw", State("BF16")},
      {"budget-7b-weights-bf16", TermGib("weight")},
      {"budget-7b-gradients-bf16", TermGib("gradient")},
      {"budget-7b-master-fp32", TermGib("master_weight")},
      {"budget-7b-adam-m-fp32", TermGib("first_moment")},
      {"budget-7b-adam-v-fp32", TermGib("second_moment")},
      {"budget-7b-total-with-8gib-activations", BudgetTotal},
      {"budget-7b-gpus-80", BudgetDevices},
      {"a100-bf16-dense-peak", Peak("a100-sxm-80", "DATA_TYPE_BF16")},
      {"h100-bf16-dense-peak", Peak("h100-sxm", "DATA_TYPE_BF16")},
      {"h100-fp32-peak", Peak("h100-sxm", "DATA_TYPE_FP32")},
      {"optimizer-state-adafactor-matrix", AdafactorElements},
      {"optimizer-buffers-muon", MuonBuffers},
      {"optimizer-state-adam8bit", EightBitAdamBytes},
      {"checkpoint-70b-mixed-adamw", CheckpointBytes},
      {"checkpoint-70b-weights-only", CheckpointWeightBytes},
      {"checkpoint-70b-write", CheckpointWriteSeconds},
      {"checkpoint-interval-young", CheckpointInterval},
      {"kaplan-gpt3-nonembedding-params",
       Gpt3({"attention_query_key_value", "attention_output", "feed_forward"})},
      {"kaplan-gpt3-embed-params", Gpt3({"token_embedding", "position_embedding"})},
      {"kaplan-gpt3-embed-flops", Gpt3EmbedFlops},
      {"kaplan-gpt3-qkv-params", Gpt3({"attention_query_key_value"})},
      {"kaplan-gpt3-project-params", Gpt3({"attention_output"})},
      {"kaplan-gpt3-ffn-params", Gpt3({"feed_forward"})},
  };
}

}  // namespace sextant::server
