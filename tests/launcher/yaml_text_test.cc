#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/launcher/json_text.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Json OnlyDocument(const std::string& text) {
  const auto read = ReadYaml(text);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  EXPECT_EQ(read.ok() ? read->size() : 0, 1) << text;
  return read.ok() && read->size() == 1 ? read->front() : Json();
}

std::string Why(const std::string& text) { return std::string(ReadYaml(text).status().message()); }

TEST(ReadYaml, TypesPlainWordsAsPyYamlDoes) {
  EXPECT_EQ(OnlyDocument("a: 1\nb: 1_000\nc: 0x1F\nd: -7\ne: +7"),
            Json::parse(R"({"a": 1, "b": 1000, "c": 31, "d": -7, "e": 7})"));
  EXPECT_EQ(OnlyDocument("a: 0.5\nb: 1e-5\nc: 1.5e+3\nd: .5"),
            Json::parse(R"({"a": 0.5, "b": 1e-5, "c": 1500.0, "d": 0.5})"));
  EXPECT_EQ(OnlyDocument("a: yes\nb: off\nc: True\nd:\ne: ~"),
            Json::parse(R"({"a": true, "b": false, "c": true, "d": null, "e": null})"));
  EXPECT_EQ(OnlyDocument("a: 1.2.3\nb: 8x7b\nc: .inf\nd: 1_\ne: v1"),
            Json::parse(R"({"a": "1.2.3", "b": "8x7b", "c": ".inf", "d": "1_", "e": "v1"})"));
}

TEST(ReadYaml, KeepsQuotedWords) {
  EXPECT_EQ(OnlyDocument("a: \"1\"\nb: 'true'\n1: x"),
            Json::parse(R"({"a": "1", "b": "true", "1": "x"})"));
}

TEST(ReadYaml, NestsListsAndMaps) {
  EXPECT_EQ(OnlyDocument("a:\n- b: {c: [1, 2]}\n  d: |\n    two\n    lines\n- x\n"),
            Json::parse(R"({"a": [{"b": {"c": [1, 2]}, "d": "two\nlines\n"}, "x"]})"));
}

TEST(ReadYaml, TakesTheLastOfAKey) {
  EXPECT_EQ(OnlyDocument("a: 1\na: {b: 2}"), Json::parse(R"({"a": {"b": 2}})"));
}

TEST(ReadYaml, ReadsEveryDocument) {
  const auto read = ReadYaml("---\na: 1\n---\n---\nb: 2\n");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2);
  EXPECT_EQ((*read)[1], Json::parse(R"({"b": 2})"));
  EXPECT_TRUE(ReadYaml("# nothing\n")->empty());
}

TEST(ReadYaml, RefusesWhatGrows) {
  EXPECT_THAT(Why("a: &x [1]\nb: *x"), HasSubstr("line 2: write the value in place of the alias"));
  EXPECT_THAT(Why(absl::StrCat(std::string(33, '['), std::string(33, ']'))),
              HasSubstr("line 1: it is nested more than 32 deep"));
  EXPECT_EQ(OnlyDocument(absl::StrCat(std::string(32, '['), std::string(32, ']'))).size(), 1);
  std::string deep;
  for (int level = 0; level < 100'000; ++level) absl::StrAppend(&deep, "- ");
  EXPECT_THAT(Why(deep), HasSubstr("it is nested more than 32 deep"));
}

// yaml-cpp 0.7 takes no step past the first two.
TEST(ReadYaml, EndsWhereNoDocumentStarts) {
  for (const char* text : {",a: 1\n", "a: 1\n---\n, b\n", "}", "]"}) {
    EXPECT_THAT(Why(text), HasSubstr("no YAML: ")) << text;
  }
}

TEST(ReadYaml, SaysWhereTextIsNoYaml) {
  EXPECT_THAT(Why("a: 1\n b: 2\n"), HasSubstr("no YAML: line 2: "));
  EXPECT_THAT(Why("a: [1, 2"), HasSubstr("no YAML: line "));
  EXPECT_THAT(Why("? [a]\n: 1"), HasSubstr("write a word as the key"));
}

}  // namespace
}  // namespace sextant::server
