// Messages in JSON, with protobuf's own reader and writer as the judge.
#include "server/connect/json_codec.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "sextant/v1/telemetry_service.pb.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::util::JsonPrintOptions;
using ::google::protobuf::util::MessageDifferencer;

const Descriptor& kPlanRun = *v1::PlanRunRequest::descriptor();
const Descriptor& kAllocate = *v1::AllocateComputeRequest::descriptor();

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
            "training":{"recompute":"RECOMPUTE_POLICY_FULL"},
            "options":{"includeDerivation":true}})"}) {
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

// True where a message of that type is read only by clients: it holds a detail, or a map.
bool IsAnswer(const Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->is_map()) return true;
  }
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
  if (IsAnswer(message)) return;
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

}  // namespace
}  // namespace sextant::server
