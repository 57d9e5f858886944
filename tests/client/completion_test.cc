// The completion scripts, run by the shells that they are for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/client/fake_server.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// No server, so that names are left out: tests/e2e/local_server_test.py has them.
constexpr char kNobody[] = "--address=127.0.0.1:1";

struct ShellRan {
  int status;
  std::string out;
};

ShellRan RunShell(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, ""};
  std::string out;
  char buffer[4096];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) out.append(buffer, n);
  return {pclose(pipe), out};
}

// The script of `shell`, in a file.
std::string ScriptFile(const std::string& shell) {
  const Ran ran = RunWith({"completion", shell, kNobody});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const std::string path = TemporaryFile(absl::StrCat("completion.", shell));
  std::ofstream(path) << ran.out;
  return path;
}

// The completions that bash offers for the last of `words`.
std::vector<std::string> BashOffers(const std::vector<std::string>& words) {
  const std::string test = absl::StrCat(
      "source ", ScriptFile("bash"), "; COMP_WORDS=('", absl::StrJoin(words, "' '"),
      "'); COMP_CWORD=", words.size() - 1, "; _sextant; printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const std::string path = TemporaryFile("completion_test.sh");
  std::ofstream(path) << test;
  const ShellRan ran = RunShell(absl::StrCat("bash ", path, " 2>&1"));
  EXPECT_EQ(ran.status, 0) << ran.out;
  return absl::StrSplit(ran.out, '\n', absl::SkipEmpty());
}

TEST(BashCompletion, IsBash) {
  const ShellRan ran = RunShell(absl::StrCat("bash -n ", ScriptFile("bash"), " 2>&1"));
  EXPECT_EQ(ran.status, 0) << ran.out;
}

TEST(BashCompletion, OffersCommandsAndGlobalFlags) {
  EXPECT_THAT(BashOffers({"sextant", "pl"}), ElementsAre("plan"));
  EXPECT_THAT(BashOffers({"sextant", ""}),
              IsSupersetOf({"plan",     "compare",     "finetune", "size-cluster", "size-model",
                            "allocate", "memory",      "count",    "accelerators", "devices",
                            "probe",    "calibration", "rates",    "nodes",        "links",
                            "op",       "graph",       "tensor",   "tokens",       "dtype",
                            "version",  "completion",  "--address"}));
}

TEST(BashCompletion, OffersTheFlagsOfACommand) {
  EXPECT_THAT(BashOffers({"sextant", "plan", "--dev"}),
              IsSupersetOf({"--devices", "--device-count", "--device-memory-bytes"}));
  EXPECT_THAT(BashOffers({"sextant", "plan", "--ti"}), ElementsAre("--timeout"));
  EXPECT_THAT(BashOffers({"sextant", "accelerators", "--"}), Not(Contains("--devices")));
}

TEST(BashCompletion, OffersTheValuesOfAnEnum) {
  EXPECT_THAT(BashOffers({"sextant", "plan", "--optimizer", "adam"}),
              ElementsAre("adam", "adamw", "adam-8bit"));
  // bash hands "--optimizer=adam" over as three words, and "--optimizer=" as two.
  EXPECT_THAT(BashOffers({"sextant", "plan", "--optimizer", "=", "mu"}), ElementsAre("muon"));
  EXPECT_THAT(BashOffers({"sextant", "plan", "--output", "="}),
              ElementsAre("text", "json", "line"));
  EXPECT_THAT(BashOffers({"sextant", "plan", "--view", "="}), ElementsAre("basic", "full"));
  EXPECT_THAT(BashOffers({"sextant", "allocate", "--rule", "=", "kap"}),
              ElementsAre("kaplan-2020"));
  EXPECT_THAT(BashOffers({"sextant", "completion", "z"}), ElementsAre("zsh"));
  EXPECT_THAT(BashOffers({"sextant", "probe", "--mode", "=", ""}),
              ElementsAre("quick", "standard", "full"));
  EXPECT_THAT(BashOffers({"sextant", "probe", "--dtype", "fp"}),
              UnorderedElementsAre("fp64", "fp32", "fp16", "fp8"));
  // The program's own flags, after a command or before it.
  EXPECT_THAT(
      BashOffers({"sextant", "plan", "--emit", "="}),
      ElementsAre("megatron", "megatron-bridge", "torchtitan", "torchtitan-python", "deepspeed",
                  "accelerate", "axolotl", "slurm", "pytorchjob", "trainjob", "jobset"));
  EXPECT_THAT(BashOffers({"sextant", "--output", "j"}), ElementsAre("json"));
}

TEST(BashCompletion, OffersFiles) {
  const std::string file = ScriptFile("bash");
  EXPECT_THAT(BashOffers({"sextant", "plan", "--request", file.substr(0, file.size() - 2)}),
              Contains(file));
  for (const char* flag : {"--calibration", "--config"}) {
    EXPECT_THAT(BashOffers({"sextant", "plan", flag, file.substr(0, file.size() - 2)}),
                Contains(file));
  }
}

TEST(BashCompletion, KnowsWhatIsCounted) {
  EXPECT_THAT(BashOffers({"sextant", "count", "gpt2", "--recompute", "="}),
              ElementsAre("none", "selective", "full", "operators"));
  EXPECT_THAT(BashOffers({"sextant", "count", "--kap"}), ElementsAre("--kaplan"));
  // The plan's choices are too many for a line of --help, and offered all the same.
  EXPECT_THAT(BashOffers({"sextant", "plan", "--flops-convention", "meg"}),
              ElementsAre("megatron-2021-hardware", "megatron-2021-model", "megatron-causal"));
  const std::string file = ScriptFile("bash");
  EXPECT_THAT(BashOffers({"sextant", "count", "--architecture", file.substr(0, file.size() - 2)}),
              Contains(file));
}

TEST(BashCompletion, KnowsLayouts) {
  EXPECT_THAT(BashOffers({"sextant", "memory", "--zero", "="}),
              ElementsAre("none", "optimizer", "gradients", "parameters"));
  EXPECT_THAT(BashOffers({"sextant", "memory", "--schedule", "z"}),
              ElementsAre("zero-bubble-h1", "zero-bubble-h2"));
  EXPECT_THAT(BashOffers({"sextant", "plan", "--frozen-data-type", ""}),
              ElementsAre("int8", "int4", "fp4"));
  EXPECT_THAT(BashOffers({"sextant", "memory", "--tensor-p"}),
              ElementsAre("--tensor-parallel-size"));
  EXPECT_THAT(BashOffers({"sextant", "memory", "--vi"}),
              ElementsAre("--view", "--virtual-stage-count", "--virtual-stages"));
  EXPECT_THAT(BashOffers({"sextant", "memory", "--fi"}), ElementsAre("--fits-chance"));
  EXPECT_THAT(BashOffers({"sextant", "plan", "--net"}),
              ElementsAre("--network", "--network-bytes-per-second"));
  // Every flag of a run is a flag of each command that takes one.
  EXPECT_THAT(BashOffers({"sextant", "memory", "--net"}),
              ElementsAre("--network", "--network-bytes-per-second"));
  const std::string file = ScriptFile("bash");
  for (const char* command : {"memory", "plan", "search"}) {
    EXPECT_THAT(BashOffers({"sextant", command, "--svg", file.substr(0, file.size() - 2)}),
                Contains(file));
  }
}

TEST(BashCompletion, OffersNothingForFreeText) {
  EXPECT_THAT(BashOffers({"sextant", "plan", "--tokens", ""}), IsEmpty());
  EXPECT_THAT(BashOffers({"sextant", "plan", "--tokens", "=", ""}), IsEmpty());
  // A flag without a value ends there.
  EXPECT_THAT(BashOffers({"sextant", "plan", "--derivation", "--mf"}), ElementsAre("--mfu"));
}

TEST(BashCompletion, KnowsTheKindsOfOperation) {
  EXPECT_THAT(BashOffers({"sextant", "op", "lay"}), ElementsAre("layer-norm"));
  EXPECT_THAT(BashOffers({"sextant", "op", "attention", "--conv"}), ElementsAre("--convention"));
  EXPECT_THAT(BashOffers({"sextant", "op", "experts", "--expert-p"}),
              ElementsAre("--expert-parallel-size"));
  EXPECT_THAT(BashOffers({"sextant", "op", "matmul", "--conv"}), IsEmpty());
  EXPECT_THAT(BashOffers({"sextant", "op", "attention", "--convention", "=", "p"}),
              ElementsAre("published"));
  EXPECT_THAT(BashOffers({"sextant", "--timeout", "5", "op", "matmul", "1x2x3", "--dtype", "bf"}),
              ElementsAre("bf16"));
  EXPECT_THAT(BashOffers({"sextant", "op", "reduction", "--function", ""}),
              ElementsAre("sum", "mean", "max", "min", "product"));
  // A kind's name elsewhere is not a command.
  EXPECT_THAT(BashOffers({"sextant", "plan", "matmul", "--mf"}), ElementsAre("--mfu"));
  const std::string file = ScriptFile("bash");
  EXPECT_THAT(BashOffers({"sextant", "op", "matmul", "--svg", file.substr(0, file.size() - 2)}),
              Contains(file));
}

bool HaveZsh() { return RunShell("command -v zsh").status == 0; }

TEST(ZshCompletion, IsZsh) {
  if (!HaveZsh()) GTEST_SKIP() << "zsh is not installed";
  const ShellRan ran = RunShell(absl::StrCat("zsh -n ", ScriptFile("zsh"), " 2>&1"));
  EXPECT_EQ(ran.status, 0) << ran.out;
}

// The completions that zsh offers for the last of `words`. zsh's completion builtins work only at a
// prompt, so three functions replace them.
std::vector<std::string> ZshOffers(const std::vector<std::string>& words) {
  const std::string test = absl::StrCat(
      "compdef() { : }\ncompset() { PREFIX=\"${PREFIX#*=}\" }\n",
      "compadd() { shift; for w in \"$@\"; do [[ $w == ${PREFIX}* ]] && print -r -- $w; done }\n",
      "source ", ScriptFile("zsh"), "\nwords=('", absl::StrJoin(words, "' '"),
      "'); CURRENT=", words.size(), "; PREFIX='", words.back(), "'\n_sextant\ntrue\n");
  const std::string path = TemporaryFile("completion_test.zsh");
  std::ofstream(path) << test;
  const ShellRan ran = RunShell(absl::StrCat("zsh -f ", path, " 2>&1"));
  EXPECT_EQ(ran.status, 0) << ran.out;
  return absl::StrSplit(ran.out, '\n', absl::SkipEmpty());
}

TEST(ZshCompletion, OffersWhatBashOffers) {
  if (!HaveZsh()) GTEST_SKIP() << "zsh is not installed";
  EXPECT_THAT(ZshOffers({"sextant", "pl"}), ElementsAre("plan"));
  EXPECT_THAT(ZshOffers({"sextant", "plan", "--dev"}),
              IsSupersetOf({"--devices", "--device-count", "--device-memory-bytes"}));
  EXPECT_THAT(ZshOffers({"sextant", "plan", "--optimizer", "mu"}), ElementsAre("muon"));
  EXPECT_THAT(ZshOffers({"sextant", "plan", "--optimizer=mu"}), ElementsAre("muon"));
  EXPECT_THAT(ZshOffers({"sextant", "plan", "--tokens", ""}), IsEmpty());
  EXPECT_THAT(ZshOffers({"sextant", "op", "lay"}), ElementsAre("layer-norm"));
  EXPECT_THAT(ZshOffers({"sextant", "op", "attention", "--convention=p"}),
              ElementsAre("published"));
}

// Both scripts come from one parser; no placeholder is left in either.
TEST(ZshCompletion, KnowsWhatBashKnows) {
  const std::string zsh = RunWith({"completion", "zsh", kNobody}).out;
  EXPECT_THAT(zsh, HasSubstr("\"plan\"|\"search\"|\"compare\"|\"finetune\"|\"size-cluster\"|"
                             "\"size-model\"|\"allocate\"|\"memory\"|\"admit\"|"
                             "\"kubernetes-controller\"|\"kubernetes-certificate\"|\"count\"|"
                             "\"models\"|"
                             "\"accelerators\"|\"devices\"|\"probe\"|"
                             "\"calibration\"|\"rates\"|\"nodes\"|\"links\"|"
                             "\"op\"|\"op matmul\"|\"op batched-matmul\"|"));
  EXPECT_THAT(zsh, HasSubstr("\"plan --optimizer\") values=\"sgd sgd-momentum "));
  EXPECT_THAT(zsh, Not(ContainsRegex("@[A-Z_]+@")));
}

}  // namespace
}  // namespace sextant::client
