// Python configurations, read without running them.
#include "server/launcher/python_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::vector<PythonSettings> ReadPython(const std::string& text) {
  auto read = ReadPythonSettings(text);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  return read.ok() ? *std::move(read) : std::vector<PythonSettings>();
}

Json OnlyPython(const std::string& text) {
  const std::vector<PythonSettings> read = ReadPython(text);
  EXPECT_EQ(read.size(), 1) << text;
  return read.size() == 1 ? read.front().values : Json();
}

std::string WhyNoPython(const std::string& text) {
  return std::string(ReadPythonSettings(text).status().message());
}

TEST(PythonSettings, TakesAssignments) {
  EXPECT_EQ(OnlyPython("SEQ = 8 * 1024\n"
                       "def recipe():\n"
                       "    cfg = common()  # all else\n"
                       "    cfg.model.tensor_model_parallel_size = 4\n"
                       "    cfg.model.seq_length = SEQ\n"
                       "    cfg.model.dtype = torch.bfloat16\n"
                       "    cfg.train.train_iters: int = 1_000_000\n"
                       "    cfg.optimizer.lr = 3e-4; cfg.rng.seed = -1\n"
                       "    return cfg\n"),
            Json::parse(R"json({"()": "common", "model": {"tensor_model_parallel_size": 4,
                            "seq_length": 8192, "dtype": "torch.bfloat16"},
                            "train": {"train_iters": 1000000}, "optimizer": {"lr": 3e-4},
                            "rng": {
  "seed" : -1}})json"));
}

TEST(PythonSettings, TakesKeywordArguments) {
  EXPECT_EQ(OnlyPython("def llama() -> Trainer.Config:\n"
                       "    \"\"\"Of a model.\"\"\"\n"
                       "    return Trainer.Config(\n"
                       "        model_spec=registry(\"8B\", 'x'),\n"
                       "        training=Training(steps=10, dtype=None),\n"
                       "        list=[1, 2.5, True], pair=(1, 2), dict={'a': [3]},\n"
                       "    )\n"),
            Json::parse(R"json({"()": "Trainer.Config", "model_spec": {"()": "registry",
                            "[]": ["8B", "x"]}, "training": {"()": "Training", "steps": 10,
                            "dtype": null}, "list": [1, 2.5, true], "pair": [1, 2],
                            "dict": {
  "a" : [3]}})json"));
}

TEST(PythonSettings, ComputesLists) {
  EXPECT_EQ(OnlyPython("c.a = ([0]*2+[1]*3)\nc.b = [1] * 100_000\n"),
            Json::parse(R"json({"a": [0, 0, 1, 1, 1], "b": "auto"})json"));
}

TEST(PythonSettings, FollowsNamesAndFunctions) {
  const std::vector<PythonSettings> read = ReadPython(
      "def base():\n    c = Config(a=1, b=2)\n    return c\n\n"
      "def other():\n    c = base()\n    c.b = 3\n    inner = C(x=c.b)\n    c.inner = inner\n"
      "    return c\n");
  ASSERT_EQ(read.size(), 2);
  EXPECT_EQ(read[1].function, "other");
  EXPECT_EQ(read[1].values, Json::parse(R"json({"()": "Config", "a": 1, "b": 3,
                                            "inner": {
    "()" : "C", "x" : 3}
})json"));
  EXPECT_EQ(read[0].values["b"], 2);
}

TEST(PythonSettings, KeepsAChainsArguments) {
  EXPECT_EQ(OnlyPython("c.model = Bridge.load(\"a/B-1\").provider(weights=False)\n"),
            Json::parse(R"json({"model": {"()": "Bridge.load.provider", "[]": ["a/B-1"],
                                      "weights": false
}
})json"));
}

TEST(PythonSettings, LeavesOpenWhatItCannotKnow) {
  EXPECT_EQ(OnlyPython("def f():\n    c = C()\n    c.a = 1 if big else 2\n"
                       "    c.b = f'{x}'\n    c.d = len(y) * 2\n    c.i = y[3]\n"
                       "    if big:\n        c.e = 5\n    c.g = [z for z in w]\n"
                       "    c.h = 7\n    return c\n"),
            Json::parse(R"json({"()": "C", "a": "auto", "b": "auto", "d": "auto", "e": "auto",
                            "g": ["auto"], "h": 7, "i": "auto"})json"));
}

TEST(PythonSettings, PassesOverClassesAndImports) {
  EXPECT_EQ(OnlyPython("from a import b\nimport c\n\nclass D:\n    x: int = 3\n\n"
                       "def f():\n    return C(y=1)\n"),
            Json::parse(R"json({"()": "C", "y": 1})json"));
}

// A file's actions when it is started, and nothing of other branches.
TEST(PythonSettings, TakesTheMainBlock) {
  EXPECT_EQ(OnlyPython("if __name__ == \"__main__\":\n    c = recipe()\n    c.train.x = 2\n"
                       "    if y:\n        c.train.z = 3\n"),
            Json::parse(R"json({"()": "recipe", "train": {"x": 2, "z": "auto"}})json"));
}

TEST(PythonSettings, SaysWhereItIsWrong) {
  EXPECT_THAT(WhyNoPython("a = 1\nb = 'x\n"), HasSubstr("line 2: a text has no end"));
  EXPECT_THAT(WhyNoPython("a = [1\n"), HasSubstr("a bracket has no end"));
  EXPECT_THAT(WhyNoPython("a = 1]\n"), HasSubstr("line 1: a bracket closes none"));
  EXPECT_THAT(WhyNoPython(absl::StrCat("a = ", std::string(33, '('), std::string(33, ')'))),
              HasSubstr("nested more than 32 deep"));
}

// Each line doubles what the one before stands for.
TEST(PythonSettings, BoundsCopies) {
  std::string text = "a0 = [1, 2]\n";
  for (int i = 1; i < 60; ++i) {
    absl::StrAppend(&text, "a", i, " = {'x': a", i - 1, ", 'y': a", i - 1, "}\n");
  }
  EXPECT_LT(OnlyPython(text).dump().size(), 10'000'000);
}

// 10,000 functions after a setting with 10,000 values: copying all names for each takes 1e8 copies.
TEST(PythonSettings, KeepsOnlyTheNamesThatAFunctionSets) {
  std::string text = "A = 1\n";
  for (int i = 0; i < 10'000; ++i) absl::StrAppend(&text, "c.k", i, "=1\n");
  for (int i = 0; i < 10'000; ++i) absl::StrAppend(&text, "def f", i, "():\n");
  absl::StrAppend(&text, " A = 2\n B = 3\n return dict(a=A)\ndef g():\n return dict(a=A, b=B)\n");
  const absl::Time start = absl::Now();
  const std::vector<PythonSettings> read = ReadPython(text);
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  ASSERT_EQ(read.size(), 2);
  EXPECT_EQ(read[0].values["a"], 2);
  EXPECT_EQ(read[1].values["a"], 1);
  EXPECT_EQ(read[1].values["b"], "B");
}

TEST(PythonSettings, SurvivesAnyCut) {
  const std::string text =
      "def f():\n  c = C(a=[1, (2,), {'b': -3}], d=\"x\")\n  c.e.f = g(h)(i).j[0] ** 2 // 3\n"
      "  if x: y\n  return c\n";
  for (size_t length = 0; length < text.size(); ++length) {
    (void)ReadPythonSettings(text.substr(0, length));
    for (const char c : std::string("([{)]}'\".=,:\n")) {
      std::string changed = text;
      changed[length] = c;
      (void)ReadPythonSettings(changed);
    }
  }
}

}  // namespace
}  // namespace sextant::server
