// The names of flags, and the words of each command line for fields that a server's errors name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "sextant/v1/field_options.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using google::protobuf::FieldDescriptor;
using ::testing::HasSubstr;

// Expects that `args`, where the server refuses a field, prints its words by the table of a
// command; `description` and `described` are the server's words about it and the command's.
template <typename Request, typename Response, typename Handlers>
void ExpectWords(std::vector<std::string> args, Handler<Request, Response> Handlers::*method,
                 const std::string& description = "is wrong",
                 const std::string& described = "is wrong") {
  Answering<Request, Response> refusing;
  Handlers handlers;
  handlers.*method = refusing.handler();
  const FakeServer server(std::move(handlers));
  const std::string table = absl::StrCat("field words of ", args[0]);
  args.insert(args.end(), {"--address", server.address()});
  for (const nlohmann::json& c : CasesOf(table)) {
    refusing.status = FieldInvalid(TextIn(c, "field"), description);
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.err, HasSubstr(absl::StrCat("\n  ", TextIn(c, "words"), ": ", described, "\n")))
        << c;
  }
}

TEST(FieldWords, AreThoseOfTheCommandThatWasRefused) {
  ExpectWords({"allocate", "1e21"}, &PlanningHandlers::allocate_compute,
              "is wrong: give tokens_per_parameter", "is wrong: give --tokens-per-parameter");
  ExpectWords({"links", "h100-sxm"}, &HardwareHandlers::get_link_times,
              "is wrong, or give bytes_per_second", "is wrong, or give --network-bytes-per-second");
  ExpectWords({"rates", "toy"}, &HardwareHandlers::get_kernel_rates);
  ExpectWords({"tokens", "5", "--bytes-per-id=2"}, &AccountingHandlers::describe_tokens);
  ExpectWords({"size-cluster"}, &PlanningHandlers::size_cluster,
              "needs economics.device_hour_price_usd", "needs --device-hour-price-usd");
  ExpectWords({"size-model"}, &PlanningHandlers::size_model);
  // The third step has an umlaut of two bytes where the line ends.
  const std::string third = absl::StrCat("check ", std::string(57, 'a'), "\xc3\xa4", "b");
  ExpectWords({"tensor", "4x8", "transpose 0 9", "check a", third, "--dtype=bf16"},
              &AccountingHandlers::analyze_tensor);
}

TEST(FieldWords, OfAPlanAreItsFlags) {
  for (const nlohmann::json& c : CasesOf("field words of plan")) {
    EXPECT_EQ(PlanFieldWords(TextIn(c, "field")), TextIn(c, "words"));
  }
  for (const nlohmann::json& c : CasesOf("description words of plan")) {
    EXPECT_EQ(PlanDescriptionWords(TextIn(c, "text")), TextIn(c, "words"));
  }
}

TEST(FieldWords, OfACountAreItsFlags) {
  const std::string config = FileWith("config.json", "{}");
  ExpectWords({"count", config}, &AccountingHandlers::count_model);
  for (const nlohmann::json& c : CasesOf("description words of count")) {
    Answering<v1::CountModelRequest, v1::CountModelResponse> counts;
    counts.status = FieldInvalid("future", TextIn(c, "text"));
    const FakeServer server(AccountingHandlers{.count_model = counts.handler()});
    EXPECT_THAT(RunWith({"count", config, "--address", server.address()}).err,
                HasSubstr(absl::StrCat("\n  future: ", TextIn(c, "words"), "\n")));
  }
}

// "--kind" would not say of what.
std::string NameOf(const FieldDescriptor& field) {
  if (field.containing_type() == v1::FrameworkMemory::descriptor() && field.name() == "kind") {
    return "framework";
  }
  if (field.name() == "kind") return "optimizer";
  if (field.containing_type() == v1::SoftwareStack::descriptor() && field.name() == "name") {
    return "software_stack";
  }
  if (field.containing_type() == v1::NetworkSpec::descriptor()) {
    return field.name() == "name" ? "network" : absl::StrCat("network_", field.name());
  }
  // "--devices" is their number.
  if (field.containing_type() == v1::HostDevices::descriptor()) return "device_uuids";
  // "--accelerator" is a product by what is published of it.
  if (field.full_name() == "sextant.v1.FleetDevices.accelerator") return "fleet";
  if (field.containing_type() == v1::ModelChanges::Adapters::descriptor()) {
    return absl::StrCat("lora_", field.name());
  }
  return field.name();
}

TEST(PlanFlags, BearTheNamesOfTheirFields) {
  for (const FieldFlag& flag : PlanFlags()) {
    const FieldDescriptor* field = FindField(*v1::PlanRunRequest::descriptor(), flag.field);
    ASSERT_NE(field, nullptr) << flag.field;
    const std::string expect =
        absl::StrCat("--", absl::StrReplaceAll(NameOf(*field), {{"_", "-"}}));
    EXPECT_TRUE(
        absl::StrContains(absl::StrCat(",", flag.names, ","), absl::StrCat(",", expect, ",")))
        << flag.names << " lacks " << expect;
  }
}

TEST(FlagsOf, AreMadeOfOptions) {
  const std::vector<FieldFlag> flags = FlagsOf(*v1::DescribeTokensRequest::descriptor());
  ASSERT_EQ(flags.size(), 4u);
  EXPECT_EQ(flags[1].names, "--vocabulary-size,--vocabulary");
  EXPECT_EQ(flags[1].field, "vocabulary_size");
  EXPECT_EQ(flags[1].help, "tokens in the vocabulary");
  EXPECT_EQ(flags[1].group, "Options");
  EXPECT_EQ(flags[1].word, "--vocabulary");
  // A message's heading is that of the messages within it, too.
  EXPECT_EQ(PlanFlags()[0].group, "Model (one of the five ways)");
  for (const FieldFlag& flag : PlanFlags()) {
    if (flag.field != "layout.parallel.tensor_parallel_size") continue;
    EXPECT_EQ(flag.group, v1::RunLayout::descriptor()->options().GetExtension(v1::flag_group));
  }
}

TEST(FlagsOf, HaveACommandsRowsFirst) {
  constexpr FlagRow kRows[] = {{.field = "cluster.device.fleet", .names = ""},
                               {.field = "economics", .group = "Money"},
                               {.field = "economics.deadline", .help = "until when"},
                               {.field = "future", .word = "FUTURE", .below = Below::kDropped}};
  const std::vector<FieldFlag> flags = FlagsOf(*v1::AllocateComputeRequest::descriptor(), kRows);
  EXPECT_EQ(flags[0].field, "cluster.device.fleet.accelerator");
  EXPECT_EQ(flags[0].names, "");
  EXPECT_EQ(flags[3].field, "economics.device_hour_price_usd");
  EXPECT_EQ(flags[3].group, "Money");
  EXPECT_EQ(FieldWordsOf(flags, "future[2].name"), "FUTURE");
  EXPECT_EQ(FieldWordsOf(flags, "future_more"), "future_more");
  for (const FieldFlag& flag : flags) {
    if (flag.field != "economics.deadline") continue;
    EXPECT_EQ(flag.help, "until when");
  }
}

TEST(FindField, KnowsNoOtherPaths) {
  const auto& type = *v1::PlanRunRequest::descriptor();
  EXPECT_EQ(FindField(type, "cluster.devise"), nullptr);
  EXPECT_EQ(FindField(type, "model.preset.name"), nullptr);
  EXPECT_EQ(FindField(type, ""), nullptr);
  v1::PlanRunRequest request;
  EXPECT_EQ(SetField("cluster.devise", "1", &request).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sextant::client
