// Every answer of the textbook, from a server.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/golden/golden_files.h"
#include "tests/server/textbook/questions.h"

namespace sextant::server {
namespace {

using nlohmann::json;

const AskedQuestions& Questions() {
  static const AskedQuestions questions = [] {
    AskedQuestions all = AskedOfTensors();
    all.merge(AskedOfNumbers());
    all.merge(AskedOfOperations());
    all.merge(AskedOfGraphs());
    all.merge(AskedOfRuns());
    return all;
  }();
  return questions;
}

TEST(TextbookCalls, AreAnsweredAsTheTextbookDoes) {
  const TestServer server;
  int asked = 0;
  for (const json& row : GoldenLines("textbook_answers.jsonl")) {
    const std::string id = row["id"];
    const auto question = Questions().find(id);
    ASSERT_NE(question, Questions().end()) << id << ": no call asks this";
    const json answer = question->second(server, row["inputs"]);
    ++asked;
    if (row["expected"].is_number() && answer.is_number()) {
      const double expected = row["expected"];
      EXPECT_NEAR(answer.get<double>(), expected, std::abs(expected) * row["rel_tol"].get<double>())
          << id;
    } else {
      EXPECT_EQ(answer, row["expected"]) << id;
    }
  }
  EXPECT_EQ(asked, static_cast<int>(Questions().size()));
}

}  // namespace
}  // namespace sextant::server
