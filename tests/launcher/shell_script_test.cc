// Shell scripts as variables and commands.
#include "server/launcher/shell_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

ShellScript Script(const std::string& text, ShellVariables variables = {}) {
  const absl::StatusOr<ShellScript> read = ReadShellScript(text, std::move(variables));
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  return read.ok() ? *read : ShellScript{};
}

// The words of the last command, "|" between them; "?" after those that are open.
std::string LastCommand(const std::string& text) {
  const ShellScript script = Script(text);
  if (script.commands.empty()) return "";
  return absl::StrJoin(script.commands.back().words, "|", [](std::string* out, auto& word) {
    absl::StrAppend(out, word.text, word.open ? "?" : "");
  });
}

// "a 'b c'" is a|b c.
TEST(ShellScript, SplitsWordsAsBashDoes) {
  EXPECT_EQ(LastCommand("run a 'b c' \"d e\" f\\ g \"\" h\"i j\"'k'"), "run|a|b c|d e|f g||hi jk");
  EXPECT_EQ(LastCommand("run a \\\n  b # c\n# d"), "run|a|b");
  EXPECT_EQ(LastCommand("run a \\\r\n  b\r\n"), "run|a|b");
  EXPECT_EQ(LastCommand("run a#b"), "run|a#b");
  EXPECT_EQ(LastCommand("run \"a\\\"b\\$c\\d\" 'e\\f'"), "run|a\"b$c\\d|e\\f");
  EXPECT_EQ(LastCommand("run a > out 2>&1 <in &>all b"), "run|a|b");
}

TEST(ShellScript, PutsLiteralVariablesIn) {
  EXPECT_EQ(LastCommand("X=8\nrun $X ${X}b \"$X\" '$X'"), "run|8|8b|8|$X");
  EXPECT_EQ(LastCommand("export X=8 Y=9; run $X $Y"), "run|8|9");
  EXPECT_EQ(LastCommand("X=a; X+=b; run $X"), "run|ab");
  EXPECT_EQ(LastCommand("run ${X:-8} ${Y-9} ${Z:=7} $Z ${Z:+set}"), "run|8|9|7|7|set");
  EXPECT_EQ(LastCommand("X=; run ${X:-8} ${X-9} a"), "run|8|a");
  EXPECT_EQ(LastCommand("A=3; run ${X:-${Y:-$A}}"), "run|3");
  EXPECT_EQ(LastCommand("A=3; B=4; run $((A*B)) $(( ($A + 1) * -2 ))"), "run|12|-8");
  EXPECT_EQ(LastCommand("N=8; run $(expr 64 / $N) $(expr 2 \\* ${N}) $(expr a : b)"),
            "run|8|16|$(...)?");
  EXPECT_EQ(LastCommand("X='a  b'; run $X \"$X\""), "run|a|b|a  b");
  EXPECT_THAT(Script("A=1; B=$A$A; C=$D").variables,
              UnorderedElementsAre(Pair("A", "1"), Pair("B", "11")));
  EXPECT_THAT(Script("A=1; C=$D").open, ElementsAre("C"));
}

TEST(ShellScript, LeavesOpenWhatOnlyARunKnows) {
  EXPECT_EQ(LastCommand("run $X a$Y ${Z%.sh} $1 \"$@\" ${#A}"), "run|$X?|a$Y?|$Z?|$1?|$@?|${...}?");
  EXPECT_EQ(LastCommand("run $(date +\")\") `pwd`/x.py $((X / 0)) a"),
            "run|$(...)?|$(...)/x.py?|$((...))?|a");
  EXPECT_EQ(LastCommand("N=$(nproc); run $N"), "run|$(...)?");
}

TEST(ShellScript, KeepsArrays) {
  const std::string array = "A=( --a 1 # x\n  '2 3'\n)\nA+=( --b )\n";
  EXPECT_EQ(LastCommand(array + "run \"${A[@]}\" z"), "run|--a|1|2 3|--b|z");
  EXPECT_EQ(LastCommand(array + "run ${A[@]}"), "run|--a|1|2|3|--b");
  EXPECT_EQ(LastCommand(array + "B=\"${A[*]}\"; run \"$B\""), "run|--a 1 2 3 --b");
}

// Quotes inside a variable's value are characters like others.
TEST(ShellScript, SplitsQuotedBlocksOfArguments) {
  EXPECT_EQ(LastCommand("N=24\nA=\" \\\n  --num-layers $N \\\n  --bf16 \\\n\"\nrun $A --x"),
            "run|--num-layers|24|--bf16|--x");
}

TEST(ShellScript, CountsNothingOfBranchesAndLoops) {
  const ShellScript script = Script(
      "TP=8\nif [ -n \"$X\" ]; then TP=4; else A+=(--b); fi\n[ -z \"$Y\" ] && TP=2\n"
      "cmd || TP=1\nfor i in 1 2; do TP=$i; done\nf() { TP=3; }\n"
      "case $X in a) TP=5 ;; esac\n{ PP=2; }\nrun $TP $PP \"${A[@]}\"");
  EXPECT_EQ(script.variables.at("TP"), "8");
  EXPECT_EQ(script.variables.at("PP"), "2");
  EXPECT_THAT(script.conditional,
              ElementsAre("TP=4", "A+=(--b)", "TP=2", "TP=1", "TP=$i", "TP=3", "TP=5"));
  EXPECT_FALSE(script.commands.back().conditional);
  EXPECT_TRUE(Script("if x; then run; fi").commands.back().conditional);
  EXPECT_FALSE(Script("cd x && run").commands.back().conditional);
  EXPECT_THAT(Script("if x; then Y=1; fi").conditional, IsEmpty());  // nothing asks for it
}

TEST(ShellScript, PassesOverHeredocs) {
  EXPECT_EQ(LastCommand("cat <<EOF > file\nrun a\nX=1\nEOF\nrun b $X"), "run|b|$X?");
  EXPECT_EQ(LastCommand("cat <<-'E' && run c\n\tX=1\n\tE\n"), "run|c");
}

TEST(ShellScript, NamesTheFilesThatItReads) {
  EXPECT_THAT(Script("source $(dirname $0)/a.sh; . b.sh").sourced,
              ElementsAre("$(...)/a.sh", "b.sh"));
}

TEST(ShellScript, SaysWhatHasNoEnd) {
  const auto error_of = [](const std::string& text) { return ReadShellScript(text).status(); };
  ExpectSays(error_of("run \"a"), "a quote has no end: close it");
  ExpectSays(error_of("run 'a"), "a quote has no end: close it");
  ExpectSays(error_of("run ${A"), "a ${ has no end: close it");
  ExpectSays(error_of("run $(a"), "has no end: close it");
  std::string deep;
  for (int i = 0; i < 17; ++i) absl::StrAppend(&deep, "${A:-");
  ExpectSays(error_of(deep), "nested more than 16 deep");
}

// 60 doublings would be 2^60 bytes.
TEST(ShellScript, RefusesVariablesThatGrow) {
  std::string text = "X=0123456789\n";
  for (int i = 0; i < 60; ++i) absl::StrAppend(&text, "X=$X$X\n");
  ExpectSays(ReadShellScript(text).status(), "more than 4 MiB");
  text = "X=(0123456789)\n";
  for (int i = 0; i < 60; ++i) absl::StrAppend(&text, "X+=(\"${X[@]}\")\n");
  ExpectSays(ReadShellScript(text).status(), "more than 4 MiB");
}

TEST(ShellScript, EndsAtAnErrorInsideASum) {
  ExpectSays(ReadShellScript("W=$((5 + ${NE)P:-1} * 2)))\ntorchrun x.py\n").status(),
             "a ${ has no end");
}

// Each of 256 KiB: a reader that starts again at every byte would take minutes.
TEST(ShellScript, TakesTimeInProportionToItsLength) {
  const auto repeated = [](const std::string& part) {
    std::string out;
    while (out.size() < 256 * 1024) out += part;
    return out;
  };
  const absl::Time start = absl::Now();
  for (const char* const part :
       {"if ", "( ", "{ ", "$(", "${", "$((", "a=(", "<<A ", "\\\n", "$", "X+=b;", "f(){ ", "[[ ",
        "case a in ", "`", "\"$(\"", "|| ", "A+=($X) "}) {
    (void)ReadShellScript(repeated(part));
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
}

TEST(ShellScript, SurvivesAnyCut) {
  for (const char* const file : {"array.sbatch", "quoted.sbatch", "titan.script"}) {
    TryEveryCut(file, std::string("\0(){}$\"'`<", 10),
                [](const std::string& text) { (void)ReadShellScript(text); });
  }
}

}  // namespace
}  // namespace sextant::server
