// Requests that are refused, with the fields that are invalid and what is said of each: the lines
// of refusals.jsonl. A line with "base" is answered; one "of" a base has the values of "set" at
// JSON pointers, null: removed. "says" has a part of each description, "among" of some.
// "not_found" has a part of the message of an unknown name, "at" its field, "near" its near names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/server/json_call.h"
#include "tests/server/wire_values.h"
#include "tests/support/source_folder.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Matcher;
using ::testing::Pair;
using ::testing::UnorderedElementsAreArray;

std::vector<Matcher<std::string>> PartsIn(const json& texts) {
  std::vector<Matcher<std::string>> out;
  for (const json& text : texts) out.push_back(HasSubstr(text.get<std::string>()));
  return out;
}

TEST(Refusals, NameEachFieldAndWhatIsWrong) {
  const TestServer server;
  std::map<std::string, json> bases;
  std::ifstream file(SourceFolder() + "/tests/server/refusals.jsonl");
  for (std::string text; std::getline(file, text);) {
    SCOPED_TRACE(text);
    const json line = json::parse(text);
    if (line.contains("base")) {
      EXPECT_FALSE(Ask(server, line["call"], line["request"]).is_null());
      bases[line["base"]] = line;
      continue;
    }
    const json& base = line.contains("of") ? bases.at(line["of"]) : line;
    const json request = WithChanges(base["request"], line.value("set", json::object()));
    if (line.contains("not_found")) {
      json answer;
      const grpc::Status status = CallJson(server, base["call"], request, &answer);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
      EXPECT_THAT(status.error_message(), HasSubstr(line["not_found"].get<std::string>()));
      const auto facts = DetailOf<google::rpc::ErrorInfo>(status).metadata();
      EXPECT_THAT(facts, Contains(Pair("field", line["at"].get<std::string>())));
      if (line.contains("near")) {
        EXPECT_THAT(facts, Contains(Pair("near_names", line["near"].get<std::string>())));
      }
      continue;
    }
    const std::vector<std::string> faults = Faults(server, base["call"], request);
    if (line.contains("among")) {
      EXPECT_THAT(faults, IsSupersetOf(PartsIn(line["among"])));
    } else {
      EXPECT_THAT(faults, UnorderedElementsAreArray(PartsIn(line["says"])));
    }
  }
  EXPECT_EQ(bases.size(), 12u);
}

}  // namespace
}  // namespace sextant::server
