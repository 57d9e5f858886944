// Messages in JSON: the mistakes that are named, and protobuf's own reader and writer as the judge
// of the rest.
#include "server/connect/json_codec.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/text.h"
#include "google/rpc/error_details.pb.h"
#include "server/call/connect_error.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "sextant/v1/telemetry_service.pb.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::util::JsonPrintOptions;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Descriptor& kPlanRun = *v1::PlanRunRequest::descriptor();
const Descriptor& kAllocate = *v1::AllocateComputeRequest::descriptor();

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
      {kPlanRun, R"({"model":{"presett":"x"}})",
       R"(model.presett: field "presett" is not known; near names: preset; all: preset, )"
       "transformer, parameterCount, huggingFaceConfig, architecture, changes"},
      {kPlanRun, R"({"training":{"recompute":"FULL"}})",
       R"(training.recompute: value "FULL" is not known; near names: RECOMPUTE_POLICY_FULL; all: )"
       "RECOMPUTE_POLICY_NONE, RECOMPUTE_POLICY_SELECTIVE, RECOMPUTE_POLICY_FULL"},
      {kPlanRun, R"({"training":{"recompute":"recompute_policy_full"}})",
       R"(training.recompute: value "recompute_policy_full" is not known; near names: )"
       "RECOMPUTE_POLICY_FULL; all: RECOMPUTE_POLICY_NONE, RECOMPUTE_POLICY_SELECTIVE, "
       "RECOMPUTE_POLICY_FULL"},
      {kPlanRun, R"({"training":{"recompute":1.5}})",
       R"(training.recompute: must be a name in quotes such as "RECOMPUTE_POLICY_FULL", not 1.5)"},
      {kPlanRun, R"({"model":"llama"})", R"(model: must be an object in braces, not "llama")"},
      {kPlanRun, R"({"model":{"preset":8}})", "model.preset: must be a text in quotes, not 8"},
      {kPlanRun, R"({"model":{"preset":["a",{"b":null}]}})",
       R"(model.preset: must be a text in quotes, not ["a",{"b":null}])"},
      {kPlanRun, R"({"cluster":{"deviceCount":"8x"}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       R"(9223372036854775807, not "8x")"},
      {kPlanRun, R"({"cluster":{"device_count":1.5}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       "9223372036854775807, not 1.5"},
      {kPlanRun, R"({"cluster":{"deviceCount":9223372036854775808}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       "9223372036854775807, not 9223372036854775808"},
      {kPlanRun, R"({"cluster":{"deviceCount":true}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       "9223372036854775807, not true"},
      {kPlanRun, R"({"cluster":{"deviceCount":""}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       R"(9223372036854775807, not "")"},
      {kPlanRun, R"({"cluster":{"deviceCount":" 8"}})",
       "cluster.device_count: must be a whole number from -9223372036854775808 to "
       R"(9223372036854775807, not " 8")"},
      {kPlanRun, R"({"options":{"includeDerivation":"true"}})",
       R"(options.include_derivation: must be true or false, not "true")"},
      {kPlanRun, R"({"layout":{"batchRamp":{}}})",
       "layout.batch_ramp: must be a list in brackets, not {}"},
      {kPlanRun, R"({"layout":{"batchRamp":[{},{},{"batchSize":[]}]}})",
       "layout.batch_ramp[2].batchSize: field"},
      {kPlanRun, R"({"layout":{"unmodelledSettings":["a",null]}})",
       "layout.unmodelled_settings[1]: must be a text in quotes, not null"},
      {kPlanRun, R"({"cluster":{"deviceCount":1,"device_count":2}})",
       "cluster.device_count: is given twice: write it once"},
      {kPlanRun, R"({"cluster":{"device":{"accelerator":"a","hostDevices":{}}}})",
       "cluster.device: has accelerator and hostDevices: give one of them"},
      {kAllocate, R"({"flops":1e400})", "flops: must be a number up to 1.8e308, not 1e400"},
      {kAllocate, R"({"flops":"inf"})", R"(flops: must be a number up to 1.8e308, not "inf")"},
      {kAllocate, R"({"duration":"1h"})",
       R"(duration: must be a number of seconds such as "3.5s", not "1h")"},
      {kAllocate, R"({"duration":3})",
       R"(duration: must be a number of seconds such as "3.5s", not 3)"},
      {kAllocate, R"({"economics":{"deadline":"2026-13-31T12:00:00Z"}})",
       R"(economics.deadline: must be a time such as "2026-01-31T12:00:00Z", not )"
       R"("2026-13-31T12:00:00Z")"},
      {kPlanRun, "", "request: is empty: send {}"},
      {kPlanRun, " \r\n\t", "request: is empty: send {}"},
      {kPlanRun, "[]", "request: must be an object in braces, not []"},
      {kPlanRun, "\"\"", R"(request: must be an object in braces, not "")"},
      {kPlanRun, "5", "request: must be an object in braces, not 5"},
      {kPlanRun, "null", "request: must be an object in braces, not null"},
      {kPlanRun, "nul", "request: is not JSON at byte 0: a value has to follow"},
      {kPlanRun, R"({"model":)", "model: is not JSON at byte 9: a value has to follow"},
      {kPlanRun, R"({"model" 1})", "model: is not JSON at byte 9: : has to follow, not 1"},
      {kPlanRun, R"({"model":{},})", R"(request: is not JSON at byte 12: " has to follow, not })"},
      {kPlanRun, R"({"model":{}} x)",
       "request: is not JSON at byte 13: the object has ended, and more follows"},
      {kPlanRun, R"({"model":{"preset":"a)",
       R"(model.preset: is not JSON at byte 21: it ends where " has to follow)"},
      {kPlanRun, "{\"model\":{\"preset\":\"\xc3(\"}}",
       "model.preset: is not JSON at byte 20: bytes of a text are not UTF-8"},
      {kPlanRun, "{\"mod\xed\xa0\x80\":1}",
       "request: is not JSON at byte 5: bytes of a text are not UTF-8"},
      {kPlanRun, R"({"model":{"preset":"\ud800"}})",
       "model.preset: is not JSON at byte 26: half of a surrogate pair"},
      {kPlanRun, R"({"model":{"preset":"\udc00\ud800"}})",
       "model.preset: is not JSON at byte 26: half of a surrogate pair"},
      {kPlanRun, R"({"model":{"preset":"\u12"}})",
       R"(model.preset: is not JSON at byte 22: \u has to have four digits)"},
      {kPlanRun, R"({"model":{"preset":"\x"}})",
       "model.preset: is not JSON at byte 21: no such escape"},
      {kPlanRun, "{\"model\":{\"preset\":\"a\nb\"}}",
       "model.preset: is not JSON at byte 21: a control character of a text has to be escaped, "
       R"(as \n or \u001b)"},
      {kPlanRun, R"({"cluster":{"deviceCount":01}})",
       "cluster: is not JSON at byte 27: } has to follow, not 1"},
      {kPlanRun, R"({"cluster":{"deviceCount":1.}})",
       "cluster.device_count: is not JSON at byte 28: a number's digits have to follow"},
      {kPlanRun, R"({"cluster":{"deviceCount":1e}})",
       "cluster.device_count: is not JSON at byte 28: a number's exponent has to follow"},
      {kPlanRun, R"({"cluster":{"deviceCount":NaN}})",
       "cluster.device_count: is not JSON at byte 26: a value has to follow"},
      {kPlanRun, R"({'model':1})", R"(request: is not JSON at byte 1: " has to follow, not ')"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.json);
    EXPECT_THAT(MistakesIn(row.type, row.json), ElementsAre(::testing::StartsWith(row.mistake)));
  }
}

TEST(BytesOfJson, NamesAllMistakesUpToSixteen) {
  EXPECT_THAT(
      MistakesIn(kPlanRun, R"({"modell":{},"layout":{"x":[1]},"cluster":{"deviceCount":"a"}})"),
      ElementsAre(HasSubstr("near names: model"), ::testing::StartsWith("layout.x: "),
                  ::testing::StartsWith("cluster.device_count: ")));
  std::string many = "{";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&many, i == 0 ? "" : ",", "\"x", i, "\":{}");
  EXPECT_EQ(MistakesIn(kPlanRun, many + "}").size(), 16u);
}

TEST(BytesOfJson, QuotesLittleAndOnlyAscii) {
  const std::string name = absl::StrCat(std::string(100'000, 'x'), "\xc3\xa9");
  for (const std::string& json :
       {absl::StrCat("{\"", name, "\":1}"), absl::StrCat("{\"\xe2\x80\xae\xc2\x85", name, "\":1}"),
        absl::StrCat("{\"model\":\"", name, "\"}"),
        absl::StrCat("{\"cluster\":{\"deviceCount\":\"", name, "\"}}"),
        absl::StrCat("{\"cluster\":{\"deviceCount\":", std::string(100'000, '9'), "}}"),
        absl::StrCat("{\"training\":{\"recompute\":\"", name, "\"}}")}) {
    const std::vector<std::string> mistakes = MistakesIn(kPlanRun, json);
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
    const auto bytes = BytesOfJson(kPlanRun, text);
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
  EXPECT_THAT(MistakesIn(kPlanRun, nested(100)), ElementsAre(HasSubstr("is not known")));
  EXPECT_THAT(MistakesIn(kPlanRun, nested(101)), ElementsAre(HasSubstr("more than 100 levels")));
}

std::unique_ptr<Message> NewOf(const Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

std::unique_ptr<Message> ReadBack(const Descriptor& type, absl::string_view json) {
  const auto bytes = BytesOfJson(type, json);
  EXPECT_THAT(bytes, IsOk()) << json;
  std::unique_ptr<Message> out = NewOf(type);
  EXPECT_TRUE(bytes.ok() && out->ParseFromString(*bytes)) << json;
  return out;
}

TEST(BytesOfJson, TakesWhatTheMappingAllows) {
  const std::unique_ptr<Message> plain =
      ReadBack(kPlanRun,
               R"({"cluster":{"deviceCount":"8"},"model":{"preset":"a\u00e9\ud83d\ude00\n"},
          "training":{"recompute":"RECOMPUTE_POLICY_FULL"},"options":{"includeDerivation":true}})");
  const auto& run = dynamic_cast<const v1::PlanRunRequest&>(*plain);
  EXPECT_EQ(run.model().preset(), "a\xc3\xa9\xf0\x9f\x98\x80\n");
  EXPECT_EQ(run.cluster().device_count(), 8);
  for (
      const char* const other :
      {R"({"cluster":{"device_count":8.0},"model":{"preset":"aé😀\n"},"layout":null,
            "training":{"recompute":3},"options":{"include_derivation":true,"view":0}})",
       R"({"model":{"preset":"aé\ud83d\uDE00\u000a","changes":null},"cluster":{"deviceCount":0.8e1},
            "training":{"recompute":"RECOMPUTE_POLICY_FULL"},"options":{"includeDerivation":true}})"}) {
    const std::unique_ptr<Message> message = ReadBack(kPlanRun, other);
    EXPECT_TRUE(MessageDifferencer::Equivalent(*message, *plain)) << message->DebugString();
  }
  const std::unique_ptr<Message> message =
      ReadBack(kAllocate, R"({"flops":"1e25","duration":"-0.000000001s",
                     "economics":{"deadline":"2026-01-31T13:00:00.5+01:00"}})");
  const auto& allocate = dynamic_cast<const v1::AllocateComputeRequest&>(*message);
  EXPECT_EQ(allocate.flops(), 1e25);
  EXPECT_EQ(allocate.duration().nanos(), -1);
  EXPECT_EQ(allocate.economics().deadline().seconds(), 1'769'860'800);
  EXPECT_EQ(allocate.economics().deadline().nanos(), 500'000'000);
}

// The message types of sextant.v1.
void AddTypes(const FileDescriptor& file, std::set<const FileDescriptor*>& seen,
              std::vector<const Descriptor*>& out) {
  if (!seen.insert(&file).second) return;
  const std::function<void(const Descriptor&)> add = [&add, &out](const Descriptor& type) {
    if (!type.options().map_entry()) out.push_back(&type);
    for (int i = 0; i < type.nested_type_count(); ++i) add(*type.nested_type(i));
  };
  if (file.package() == "sextant.v1") {
    for (int i = 0; i < file.message_type_count(); ++i) add(*file.message_type(i));
  }
  for (int i = 0; i < file.dependency_count(); ++i) AddTypes(*file.dependency(i), seen, out);
}

std::vector<const Descriptor*> AllTypes() {
  std::set<const FileDescriptor*> seen;
  std::vector<const Descriptor*> out;
  for (const Descriptor* const each :
       {v1::PlanRunRequest::descriptor(), v1::AnalyzeTensorRequest::descriptor(),
        v1::GetKernelRatesRequest::descriptor(), v1::ReportProgressRequest::descriptor()}) {
    AddTypes(*each->file(), seen, out);
  }
  return out;
}

// Fills messages with values at random, among them the ends of each type.
class Filler {
 public:
  explicit Filler(unsigned seed) : random_(seed) {}

  void Fill(Message* message, int depth) {
    const std::string& name = message->GetDescriptor()->full_name();
    if (name == "google.protobuf.Any") {
      google::rpc::ErrorInfo info;
      Fill(&info, depth);
      (*info.mutable_metadata())["k\""] = Text();
      dynamic_cast<google::protobuf::Any*>(message)->PackFrom(info);
      return;
    }
    const bool is_time = name == "google.protobuf.Timestamp";
    if (is_time || name == "google.protobuf.Duration") {
      const int64_t sign = is_time || random_() % 2 == 0 ? 1 : -1;
      const auto* const seconds = message->GetDescriptor()->FindFieldByNumber(1);
      const auto* const nanos = message->GetDescriptor()->FindFieldByNumber(2);
      const int fractions[] = {0, 500'000'000, 1'000, 999'999'999};
      message->GetReflection()->SetInt64(message, seconds, sign * static_cast<int64_t>(random_()));
      message->GetReflection()->SetInt32(message, nanos,
                                         static_cast<int>(sign) * fractions[random_() % 4]);
      return;
    }
    for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* const field = message->GetDescriptor()->field(i);
      if (random_() % 4 == 0 || field->is_map() || (depth == 0 && field->message_type())) continue;
      const unsigned count = field->is_repeated() ? random_() % 4 : 1;
      for (unsigned k = 0; k < count; ++k) Give(message, field, depth);
    }
  }

 private:
  template <typename Whole>
  Whole WholeOf() {
    const Whole some[] = {0,
                          1,
                          127,
                          std::numeric_limits<Whole>::max(),
                          std::numeric_limits<Whole>::min(),
                          static_cast<Whole>(random_())};
    return some[random_() % 6];
  }

  double Real() {
    const double some[] = {0,       -0.0,
                           1,       -2,
                           0.1,     1e-7,
                           1e15,    123456789012345.5,
                           5e-324,  std::numeric_limits<double>::max(),
                           1e25,    std::numeric_limits<double>::infinity(),
                           1.0 / 3, 1e-3 * static_cast<double>(random_())};
    return some[random_() % 14];
  }

  std::string Text() {
    const char* const some[] = {"", "llama", "\"\\/\b\f\n\r\t\x01\x7f<>&", "é€😀\xe2\x80\xa8",
                                "[1,{\"a\":2}]"};
    return some[random_() % 5];
  }

  void Give(Message* to, const FieldDescriptor* field, int depth) {
    const auto& r = *to->GetReflection();
    const bool many = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Fill(many ? r.AddMessage(to, field) : r.MutableMessage(to, field), depth - 1);
      case FieldDescriptor::CPPTYPE_STRING:
        return many ? r.AddString(to, field, Text()) : r.SetString(to, field, Text());
      case FieldDescriptor::CPPTYPE_ENUM: {
        const int last = field->enum_type()->value_count();
        const int number = static_cast<int>(random_() % (static_cast<unsigned>(last) + 2));
        return many ? r.AddEnumValue(to, field, number) : r.SetEnumValue(to, field, number);
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        return many ? r.AddBool(to, field, random_() % 2 == 0)
                    : r.SetBool(to, field, random_() % 2 == 0);
      case FieldDescriptor::CPPTYPE_INT32:
        return many ? r.AddInt32(to, field, WholeOf<int32_t>())
                    : r.SetInt32(to, field, WholeOf<int32_t>());
      case FieldDescriptor::CPPTYPE_INT64:
        return many ? r.AddInt64(to, field, WholeOf<int64_t>())
                    : r.SetInt64(to, field, WholeOf<int64_t>());
      case FieldDescriptor::CPPTYPE_UINT32:
        return many ? r.AddUInt32(to, field, WholeOf<uint32_t>())
                    : r.SetUInt32(to, field, WholeOf<uint32_t>());
      case FieldDescriptor::CPPTYPE_UINT64:
        return many ? r.AddUInt64(to, field, WholeOf<uint64_t>())
                    : r.SetUInt64(to, field, WholeOf<uint64_t>());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return many ? r.AddDouble(to, field, Real()) : r.SetDouble(to, field, Real());
      default:
        ADD_FAILURE() << "no value for " << field->full_name();
    }
  }

  std::mt19937 random_;
};

// True where a message of that type is read only by clients.
bool HoldsDetails(const Message& message) {
  return message.DebugString().find("type.googleapis.com") != std::string::npos;
}

void ExpectSameAsProtobuf(const Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  SCOPED_TRACE(type.full_name());
  const auto ours = JsonOfBytes(type, message.SerializeAsString());
  ASSERT_THAT(ours, IsOk());
  std::string theirs;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(message, &theirs).ok());
  ASSERT_EQ(nlohmann::json::parse(*ours), nlohmann::json::parse(theirs));

  std::unique_ptr<Message> read = NewOf(type);
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(*ours, read.get()).ok()) << *ours;
  ASSERT_TRUE(MessageDifferencer::Equals(*read, message)) << *ours;
  if (HoldsDetails(message)) return;
  ASSERT_TRUE(MessageDifferencer::Equals(*ReadBack(type, *ours), message)) << *ours;

  JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.always_print_enums_as_ints = true;
  options.preserve_proto_field_names = true;
  theirs.clear();
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(message, &theirs, options).ok());
  ASSERT_TRUE(MessageDifferencer::Equals(*ReadBack(type, theirs), message)) << theirs;
}

TEST(JsonCodec, EveryMessageIsAsProtobufHasIt) {
  const std::vector<const Descriptor*> types = AllTypes();
  EXPECT_GT(types.size(), 250u);
  Filler filler(49);
  for (const Descriptor* const type : types) {
    if (HasFatalFailure()) return;
    const std::unique_ptr<Message> message = NewOf(*type);
    ExpectSameAsProtobuf(*message);
    for (int i = 0; i < 10 && !HasFatalFailure(); ++i) {
      message->Clear();
      filler.Fill(message.get(), 3);
      ExpectSameAsProtobuf(*message);
    }
  }
}

TEST(JsonOfBytes, WritesWhatIsNotUtf8AsReplacement) {
  // model { preset: "a\xff\xe2\x82" }
  const auto json = JsonOfBytes(kPlanRun,
                                "\x0a\x06\x0a\x04"
                                "a\xff\xe2\x82");
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(*json, "{\"model\":{\"preset\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}}");
}

TEST(JsonOfBytes, RefusesBytesThatAreNoMessage) {
  v1::PlanRunRequest run;
  run.mutable_model()->set_preset("llama");
  run.mutable_cluster()->set_device_count(8);
  const std::string bytes = run.SerializeAsString();
  ASSERT_THAT(JsonOfBytes(kPlanRun, bytes), IsOk());
  for (const std::string& bad : {bytes.substr(0, bytes.size() - 1), bytes + "\xff", bytes + bytes,
                                 std::string("\x0a\x7f"), std::string("\x0b")}) {
    EXPECT_THAT(JsonOfBytes(kPlanRun, bad), Fails(absl::StatusCode::kInternal, "INVARIANT_BROKEN"));
  }
  // As gRPC's readers, it passes fields that it does not know.
  EXPECT_EQ(JsonOfBytes(kPlanRun, std::string("\xfa\x3f\x01x", 4)).value_or(""), "{}");
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
      {kPlanRun, "plan_run"},
      {kPlanRun, "plan_run_search"},
      {kPlanRun, "one_layer"},
      {kAllocate, "allocate_compute"},
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
      const std::unique_ptr<Message> message = NewOf(example.type);
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
