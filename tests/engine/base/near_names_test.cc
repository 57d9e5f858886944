// Names that people type, and numbers, instants and cut text.
#include "engine/base/near_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "engine/base/reason.h"
#include "engine/base/text.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr KnownName kNames[] = {{"a10", "A10 24GB"},
                                {"a100-sxm-80", "A100 SXM4 80GB"},
                                {"h100-sxm", "H100 SXM5 80GB"},
                                {"h100-pcie", "H100 PCIe 80GB"},
                                {"h200-sxm", "H200 SXM 141GB"},
                                {"b200-sxm"},
                                {"tpu-v5e"}};

std::vector<absl::string_view> NearNames(absl::string_view name, absl::Span<const KnownName> names,
                                         int most) {
  return NearNameIndex(names).Near(name, most);
}

TEST(ComparableName, LeavesOutCaseAndSeparators) {
  EXPECT_EQ(ComparableName("Llama 3.1-70B"), ComparableName("llama_3.1/70b"));
  EXPECT_NE(ComparableName("llama-3.1-70b"), ComparableName("llama-3.1-8b"));
  EXPECT_EQ(ComparableName("gpt-2"), ComparableName("GPT2"));
  EXPECT_EQ(ComparableName("phi-1_5"), ComparableName("phi 1.5"));
  EXPECT_EQ(ComparableName(""), "");
  EXPECT_EQ(ComparableName(" . "), "");
}

TEST(ComparableName, KeepsNumbersApart) {
  EXPECT_NE(ComparableName("opt-1.3b"), ComparableName("opt-13b"));
  EXPECT_EQ(ComparableName("opt-1..3b"), "opt1.3b");
}

TEST(ComparableName, IsBounded) {
  EXPECT_EQ(ComparableName(std::string(1 << 20, 'x')).size(), 64u);
}

TEST(NearNames, FindsPartsOfNames) {
  EXPECT_THAT(NearNames("H100", kNames, 8), ElementsAre("h100-sxm", "h100-pcie"));
}

// As drivers and people spell them.
TEST(NearNames, FindsSharedWordsOfProductNames) {
  EXPECT_EQ(NearNames("NVIDIA A100-SXM4-80GB", kNames, 8).front(), "a100-sxm-80");
  EXPECT_EQ(NearNames("a100 80gb", kNames, 8).front(), "a100-sxm-80");
  EXPECT_EQ(NearNames("NVIDIA H200", kNames, 8).front(), "h200-sxm");
  EXPECT_THAT(NearNames("NVIDIA H100 80GB HBM3", kNames, 2), ElementsAre("h100-sxm", "h100-pcie"));
}

TEST(NearNames, FindsMisspellings) {
  EXPECT_THAT(NearNames("h100-smx", kNames, 8), Contains("h100-sxm"));
  // One letter away comes before two.
  EXPECT_EQ(NearNames("h20-sxm", kNames, 8).front(), "h200-sxm");
}

TEST(NearNames, FindsAFamilyThatDoesNotExist) {
  EXPECT_EQ(NearNames("h300", kNames, 8).front(), "h100-sxm");
}

TEST(NearNames, OffersNothingForNonsense) {
  EXPECT_THAT(NearNames("zzzzzzzz", kNames, 8), IsEmpty());
  EXPECT_THAT(NearNames("", kNames, 8), IsEmpty());
  EXPECT_THAT(NearNames("---", kNames, 8), IsEmpty());
}

TEST(NearNames, OffersAtMostSoMany) { EXPECT_EQ(NearNames("sxm", kNames, 2).size(), 2u); }

// Levenshtein's table, row by row.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

// Names of letters alone share no words, unless one is the other.
TEST(NearNames, AreThoseOfTheLeastEditDistance) {
  std::mt19937 random(5);
  const auto word = [&random](size_t least) {
    std::string out(std::min<size_t>(least + random() % 12, 64), 'a');  // as many are compared
    for (char& letter : out) letter = static_cast<char>('a' + random() % 3);
    return out;
  };
  size_t count = 0;
  for (int round = 0; round < 300; ++round) {
    const std::string name = word(round % 10 == 0 ? 53 : 3);
    std::vector<std::string> others;
    while (others.size() < 8) {
      std::string other = word(1 + random() % name.size());
      if (!absl::StrContains(other, name)) others.push_back(std::move(other));
    }
    std::vector<KnownName> known;
    std::vector<std::pair<size_t, absl::string_view>> near;
    for (const std::string& other : others) {
      known.push_back({other});
      const size_t distance =
          std::min(EditDistance(name, other), EditDistance(name, other.substr(0, name.size())) + 1);
      if (2 * distance <= name.size()) near.emplace_back(distance, other);
    }
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<absl::string_view> expected;
    for (const auto& [distance, other] : near) expected.push_back(other);
    EXPECT_EQ(NearNames(name, known, 8), expected) << name;
    count += expected.size();
  }
  EXPECT_GT(count, 300u);
}

TEST(UnknownNameMessage, QuotesTheNameSafelyAndBriefly) {
  const std::string message =
      UnknownNameMessage("accelerator", "h100\n\x01\xff", kNames, "the list");
  EXPECT_THAT(message, HasSubstr("h100\\n\\x01\\xff"));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  EXPECT_THAT(message, HasSubstr("all: the list"));
  EXPECT_LT(UnknownNameMessage("model", std::string(1 << 20, 'h'), kNames, "the list").size(),
            1000u);
}

TEST(UnknownNameError, TellsProgramsThreeNearNames) {
  const KnownName names[] = {{"a-1"}, {"a-2"}, {"a-3"}, {"a-4"}, {"b"}};
  const absl::Status status = UnknownNameError("thing", "a-9", names, "the list");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), UnknownNameMessage("thing", "a-9", names, "the list"));
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("near_names", "a-1, a-2, a-3")));
  EXPECT_THAT(MetadataOf(UnknownNameError("thing", "xyz", names, "the list")), IsEmpty());
}

TEST(Clip, LeavesShortTextAlone) {
  EXPECT_EQ(Clip("", 5), "");
  EXPECT_EQ(Clip("12345", 5), "12345");
}

TEST(Clip, MarksWhatItCuts) { EXPECT_EQ(Clip("123456", 5), "12..."); }

// "a" and then 2-byte characters: a cut in the middle of one moves to its start.
TEST(Clip, NeverSplitsACharacter) {
  const std::string text = "a\u00e9\u00e9\u00e9\u00e9";  // 9 bytes
  EXPECT_EQ(Clip(text, 8), "a\u00e9\u00e9...");          // 5 + 3
  EXPECT_EQ(Clip(text, 7), "a\u00e9...");                // 4 would split one
}

TEST(Clip, SurvivesTextOfContinuationBytesAlone) {
  EXPECT_EQ(Clip(std::string(10, '\x80'), 5), "...");
}

// `date -u -d @SECONDS` gives the same.
TEST(UtcText, IsIso8601) {
  EXPECT_EQ(UtcText(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(UtcText(951'782'399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(UtcText(951'782'400), "2000-02-29T00:00:00Z");  // a leap year, unlike 2100
  EXPECT_EQ(UtcText(4'107'542'400), "2100-03-01T00:00:00Z");
  EXPECT_EQ(UtcText(253'402'300'799), "9999-12-31T23:59:59Z");
  EXPECT_EQ(UtcText(-1), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace sextant
