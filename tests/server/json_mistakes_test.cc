// Mistakes in requests of JSON: each is named, and hostile text costs little.
#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "server/call/connect_error.h"
#include "server/connect/json_codec.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::google::protobuf::Descriptor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Descriptor& kRun = *v1::PlanRunRequest::descriptor();
const Descriptor& kBudget = *v1::AllocateComputeRequest::descriptor();

std::vector<std::string> MistakesIn(const Descriptor& type, absl::string_view json) {
  const auto bytes = BytesOfJson(type, json);
  EXPECT_THAT(bytes, Fails(absl::StatusCode::kInvalidArgument, "FIELD_INVALID"));
  std::vector<std::string> out;
  for (const FieldViolation& v : FieldViolationsOf(bytes.status())) {
    out.push_back(absl::StrCat(v.field, ": ", v.description));
  }
  return out;
}

TEST(BytesOfJson, NamesMistakesByPathAndSaysWhatToWrite) {
  const struct {
    const Descriptor& type;
    const char* json;
    const char* mistake;
  } rows[] = {
      {kRun, R"({"model":{"presett":"x"}})",
       R"(model.presett: field "presett" is not known; near names: preset; all: preset, )"
       "parameterCount, transformer, huggingFaceConfig, architecture, allowUnreadFields, changes"},
      {kRun, R"({"training":{"recompute":"FULL"}})",
       R"(training.recompute: value "FULL" is not known; near names: RECOMPUTE_POLICY_FULL; all: )"
       "RECOMPUTE_POLICY_NONE, RECOMPUTE_POLICY_SELECTIVE, RECOMPUTE_POLICY_FULL"},
      {kRun, R"({"training":{"recompute":"recompute_policy_full"}})",
       R"(training.recompute: value "recompute_policy_full" is not known; near names: )"
       "RECOMPUTE_POLICY_FULL; all: RECOMPUTE_POLICY_NONE, RECOMPUTE_POLICY_SELECTIVE, "
       "RECOMPUTE_POLICY_FULL"},
      {kRun, R"({"training":{"recompute":1.5}})",
       R"(training.recompute: must be a name in quotes such as "RECOMPUTE_POLICY_OPERATORS", )"
       "not 1.5"},
      {kRun, R"({"model":"llama"})", R"(model: must be an object in braces, not "llama")"},
      {kRun, R"({"model":{"preset":8}})", "model.preset: must be a text in quotes, not 8"},
      {kRun, R"({"model":{"preset":["a",{"b":null}]}})",
       R"(model.preset: must be a text in quotes, not ["a",{"b":null}])"},
      {kRun, R"({"cluster":{"deviceCount":"8x"}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       R"(9223372036854775807, not "8x")"},
      {kRun, R"({"cluster":{"device_count":1.5}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       "9223372036854775807, not 1.5"},
      {kRun, R"({"cluster":{"deviceCount":9223372036854775808}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       "9223372036854775807, not 9223372036854775808"},
      {kRun, R"({"cluster":{"deviceCount":true}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       "9223372036854775807, not true"},
      {kRun, R"({"cluster":{"deviceCount":""}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       R"(9223372036854775807, not "")"},
      {kRun, R"({"cluster":{"deviceCount":" 8"}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       R"(9223372036854775807, not " 8")"},
      {kRun, R"({"options":{"includeDerivation":"true"}})",
       R"(options.include_derivation: must be true or false, not "true")"},
      {kRun, R"({"layout":{"batchRamp":{}}})",
       "layout.batch_ramp: must be a list in brackets, not {}"},
      {kRun, R"({"layout":{"batchRamp":[{},{},{"batchSize":[]}]}})",
       "layout.batch_ramp[2].batchSize: field"},
      {kRun, R"({"layout":{"unmodelledSettings":["a",null]}})",
       "layout.unmodelled_settings[1]: must be a text in quotes, not null"},
      {kRun, R"({"cluster":{"deviceCount":1,"device_count":2}})",
       "cluster.device_count: is given twice: write it once"},
      {kRun, R"({"cluster":{"device":{"accelerator":"a","hostDevices":{}}}})",
       "cluster.device: has accelerator and hostDevices: give one of them"},
      {kBudget, R"({"flops":1e400})", "flops: must be a number up to 1.8e308, not 1e400"},
      {kBudget, R"({"flops":"inf"})", R"(flops: must be a number up to 1.8e308, not "inf")"},
      {kBudget, R"({"duration":"1h"})",
       R"(duration: must be a number of seconds such as "3.5s", not "1h")"},
      {kBudget, R"({"duration":3})",
       R"(duration: must be a number of seconds such as "3.5s", not 3)"},
      {kBudget, R"({"economics":{"deadline":"2026-13-31T12:00:00Z"}})",
       R"(economics.deadline: must be a time such as "2026-01-31T12:00:00Z", not )"
       R"("2026-13-31T12:00:00Z")"},
      {kRun, "", "request: is empty: send {}"},
      {kRun, " \r\n\t", "request: is empty: send {}"},
      {kRun, "[]", "request: must be an object in braces, not []"},
      {kRun, "\"\"", R"(request: must be an object in braces, not "")"},
      {kRun, "5", "request: must be an object in braces, not 5"},
      {kRun, "null", "request: must be an object in braces, not null"},
      {kRun, "nul", "request: is not JSON at byte 0: a value has to follow"},
      {kRun, R"({"model":)", "model: is not JSON at byte 9: a value has to follow"},
      {kRun, R"({"model" 1})", "model: is not JSON at byte 9: : has to follow, not 1"},
      {kRun, R"({"model":{},})", R"(request: is not JSON at byte 12: " has to follow, not })"},
      {kRun, R"({"model":{}} x)",
       "request: is not JSON at byte 13: the object has ended, and more follows"},
      {kRun, R"({"model":{"preset":"a)",
       R"(model.preset: is not JSON at byte 21: it ends where " has to follow)"},
      {kRun, "{\"model\":{\"preset\":\"\xc3(\"}}",
       "model.preset: is not JSON at byte 20: bytes of a text are not UTF-8"},
      {kRun, "{\"mod\xed\xa0\x80\":1}",
       "request: is not JSON at byte 5: bytes of a text are not UTF-8"},
      {kRun, R"({"model":{"preset":"\ud800"}})",
       "model.preset: is not JSON at byte 26: half of a surrogate pair"},
      {kRun, R"({"model":{"preset":"\udc00\ud800"}})",
       "model.preset: is not JSON at byte 26: half of a surrogate pair"},
      {kRun, R"({"model":{"preset":"\u12"}})",
       R"(model.preset: is not JSON at byte 22: \u has to have four digits)"},
      {kRun, R"({"model":{"preset":"\x"}})",
       "model.preset: is not JSON at byte 21: no such escape"},
      {kRun, "{\"model\":{\"preset\":\"a\nb\"}}",
       "model.preset: is not JSON at byte 21: a control character of a text has to be escaped, "
       R"(as \n or \u001b)"},
      {kRun, R"({"cluster":{"deviceCount":01}})",
       "cluster: is not JSON at byte 27: } has to follow, not 1"},
      {kRun, R"({"cluster":{"deviceCount":1.}})",
       "cluster.device_count: is not JSON at byte 28: a number's digits have to follow"},
      {kRun, R"({"cluster":{"deviceCount":1e}})",
       "cluster.device_count: is not JSON at byte 28: a number's exponent has to follow"},
      {kRun, R"({"cluster":{"deviceCount":NaN}})",
       "cluster.device_count: is not JSON at byte 26: a value has to follow"},
      {kRun, R"({'model':1})", R"(request: is not JSON at byte 1: " has to follow, not ')"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.json);
    EXPECT_THAT(MistakesIn(row.type, row.json), ElementsAre(StartsWith(row.mistake)));
  }
}

TEST(BytesOfJson, NamesAllMistakesUpToSixteen) {
  EXPECT_THAT(MistakesIn(kRun, R"({"modell":{},"layout":{"x":[1]},"cluster":{"deviceCount":"a"}})"),
              ElementsAre(HasSubstr("near names: model"), StartsWith("layout.x: "),
                          StartsWith("cluster.device_count: ")));
  std::string many = "{";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&many, i == 0 ? "" : ",", "\"x", i, "\":{}");
  EXPECT_EQ(MistakesIn(kRun, many + "}").size(), 16u);
}

TEST(BytesOfJson, QuotesLittleAndOnlyAscii) {
  const std::string name = absl::StrCat(std::string(100'000, 'x'), "\xc3\xa9");
  for (const std::string& json :
       {absl::StrCat("{\"", name, "\":1}"), absl::StrCat("{\"\xe2\x80\xae\xc2\x85", name, "\":1}"),
        absl::StrCat("{\"model\":\"", name, "\"}"),
        absl::StrCat("{\"cluster\":{\"deviceCount\":\"", name, "\"}}"),
        absl::StrCat("{\"cluster\":{\"deviceCount\":", std::string(100'000, '9'), "}}"),
        absl::StrCat("{\"training\":{\"recompute\":\"", name, "\"}}")}) {
    const std::vector<std::string> mistakes = MistakesIn(kRun, json);
    ASSERT_EQ(mistakes.size(), 1u);
    EXPECT_LT(mistakes[0].size(), 800u);
    for (const char c : mistakes[0]) EXPECT_TRUE(c >= ' ' && c < '\x7f') << mistakes[0];
  }
}

std::string Times(int count, absl::string_view text) {
  std::string out;
  for (int i = 0; i < count; ++i) absl::StrAppend(&out, text);
  return out;
}

// Each is refused, in time that is in proportion to its size.
TEST(BytesOfJson, HostileTextsAreRefusedSoon) {
  const std::string lists = Times(10'000, "[");
  const std::string levels = Times(10'000, R"({"x":)");
  const std::string texts[] = {
      absl::StrCat(lists, Times(10'000, "]")),
      absl::StrCat("{\"x\":", Times(1'000'000, "["), "}"),
      absl::StrCat(levels, "1", Times(10'000, "}")),
      absl::StrCat("{\"model\":{\"architecture\":", levels, "1", Times(10'000, "}"), "}}"),
      absl::StrCat("{\"layout\":{\"batchRamp\":[", Times(300'000, "{},"), "{}]}, \"x\":1}"),
      absl::StrCat("{\"layout\":{\"batchRamp\":[", Times(300'000, "[],"), "{}]}}"),
      absl::StrCat("{\"x\":[", Times(500'000, "1,"), "1]}"),
      absl::StrCat("{", Times(100'000, R"("abcdef":1,)"), R"("a":1})"),
      absl::StrCat("{", Times(60'000, R"("model":null,)"), R"("a":1})"),
      absl::StrCat("{\"", Times(1'000'000, "k"), "\":1}"),
      absl::StrCat("{\"model\":{\"preset\":\"", Times(160'000, R"(\ud83d)"), "\"}}"),
      absl::StrCat("{\"cluster\":{\"deviceCount\":", Times(1'000'000, "1"), "}}"),
      absl::StrCat("{\"cluster\":{\"deviceCount\":1e", Times(1'000'000, "1"), "}}"),
      std::string("{\"model\":{\"preset\":\"a\0b\"}}", 25),
      std::string("\0", 1),
      std::string("{}\0", 3),
      std::string(1 << 20, '\0'),
      std::string(1 << 20, '\xff'),
  };
  for (const std::string& text : texts) {
    const auto start = std::chrono::steady_clock::now();
    const auto bytes = BytesOfJson(kRun, text);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    EXPECT_THAT(bytes, Fails(absl::StatusCode::kInvalidArgument, "FIELD_INVALID"))
        << text.substr(0, 100);
    EXPECT_LT(bytes.status().message().size(), 8'000u);
    EXPECT_LT(taken.count(), 2) << text.substr(0, 100);
  }
}

// 100 levels are read, and no more; they count within what is not read, too.
TEST(BytesOfJson, ReadsAHundredLevels) {
  const auto nested = [](int levels) {
    return absl::StrCat(Times(levels, R"({"x":)"), "1", Times(levels, "}"));
  };
  EXPECT_THAT(MistakesIn(kRun, nested(100)), ElementsAre(HasSubstr("is not known")));
  EXPECT_THAT(MistakesIn(kRun, nested(101)), ElementsAre(HasSubstr("more than 100 levels")));
}

struct Example {
  const Descriptor& type;
  std::string json;
};

std::vector<Example> Examples() {
  const struct {
    const Descriptor& type;
    const char* name;
  } files[] = {
      {kRun, "plan_run"},
      {kRun, "plan_run_search"},
      {kRun, "one_layer"},
      {kBudget, "allocate_compute"},
      {*v1::BatchPlanRunsRequest::descriptor(), "batch_plan_runs"},
      {*v1::SizeClusterRequest::descriptor(), "size_cluster"},
      {*v1::SizeModelRequest::descriptor(), "size_model"},
      {*v1::CountModelRequest::descriptor(), "count_model"},
      {*v1::AnalyzeOperationRequest::descriptor(), "matmul"},
      {*v1::AnalyzeOperationRequest::descriptor(), "attention"},
  };
  std::vector<Example> out;
  for (const auto& file : files) {
    std::ifstream in(absl::StrCat(SourceFolder(), "/docs/examples/", file.name, ".json"));
    std::stringstream text;
    text << in.rdbuf();
    out.push_back({file.type, text.str()});
    EXPECT_THAT(BytesOfJson(file.type, out.back().json), IsOk()) << file.name;
  }
  return out;
}

bool IsOneLineOfUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text.substr(i));
    if (length == 0 || static_cast<unsigned char>(text[i]) < 0x20) return false;
    i += length;
  }
  return true;
}

TEST(JsonCodec, MutatedExamplesAreReadOrRefused) {
  const google::protobuf::LogSilencer quiet;
  const std::vector<Example> examples = Examples();
  const std::string pieces[] = {"\xff",
                                "\xed\xa0\x80",
                                "\"",
                                "{",
                                "[",
                                "]",
                                "}",
                                ",",
                                ":",
                                "1e400",
                                "null",
                                "\\ud800",
                                std::string(1, '\0'),
                                "-",
                                "\\",
                                "\xe2\x80\xa8"};
  std::mt19937 random(20261129);
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Example& example = examples[random() % examples.size()];
    std::string text = example.json;
    for (int k = 0; k < 1 + i % 2; ++k) {
      const size_t at = random() % (text.size() + 1);
      const unsigned kind = random() % 4;
      if (kind == 0) text.resize(at);
      if (kind == 1) text.insert(at, pieces[random() % std::size(pieces)]);
      if (kind == 2 && at < text.size()) text[at] = static_cast<char>(random());
      if (kind == 3) text.erase(at, 1 + random() % 8);
    }
    const auto bytes = BytesOfJson(example.type, text);
    if (bytes.ok()) {
      ++read;
      const std::unique_ptr<google::protobuf::Message> message(
          google::protobuf::MessageFactory::generated_factory()
              ->GetPrototype(&example.type)
              ->New());
      EXPECT_TRUE(message->ParseFromString(*bytes)) << text;
      EXPECT_THAT(JsonOfBytes(example.type, message->SerializeAsString()), IsOk());
      continue;
    }
    ++refused;
    EXPECT_THAT(bytes, Fails(absl::StatusCode::kInvalidArgument, "FIELD_INVALID"));
    EXPECT_FALSE(FieldViolationsOf(bytes.status()).empty());
    EXPECT_TRUE(IsOneLineOfUtf8(bytes.status().message())) << bytes.status();
    const nlohmann::json error = nlohmann::json::parse(ConnectErrorJson(bytes.status(), ""));
    EXPECT_EQ(error["details"][1]["type"], "google.rpc.BadRequest");
    EXPECT_TRUE(error["details"][1].contains("debug"));
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace sextant::server
