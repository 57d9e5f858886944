// `sextant admit`, against a fake server: what it sends, prints and returns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

// A server that finds that a job does not fit.
struct Admissions {
  Answering<v1::AdmitRequest, v1::AdmitResponse> answering;

  Admissions() {
    answering.response.set_verdict(v1::AdmitResponse::VERDICT_DOES_NOT_FIT);
    answering.response.set_message("DOES NOT FIT: x");
    answering.response.set_change("--zero=optimizer (now none): 52.77 GiB");
  }
  Ran Run(std::vector<std::string> args) {
    const FakeServer server(PlanningHandlers{.admit = answering.handler()});
    args.insert(args.begin(), {"--address", server.address(), "admit"});
    return RunWith(args);
  }
  std::string WordsOf(const std::vector<std::string>& args) {
    Run(args);
    return answering.request.words();
  }
};

TEST(AdmitCommand, SendsOneWordAsALineAndQuotesSeveral) {
  Admissions server;
  EXPECT_EQ(server.WordsOf({"--", "gpt2 --tp=8 'a b'"}), "gpt2 --tp=8 'a b'");
  EXPECT_EQ(server.WordsOf({"--", "gpt2", "--tp=8", "--devices", "8"}), "gpt2 --tp=8 --devices 8");
  EXPECT_EQ(server.WordsOf({"--", "gpt2", "--unmodelled=a b", "it's", "", "\\", "$x"}),
            R"(gpt2 '--unmodelled=a b' 'it'\''s' '' '\' $x)");
  // A launcher's name for a flag is a word like others.
  EXPECT_EQ(server.WordsOf({"--", "gpt2", "--gpus=8"}), "gpt2 --gpus=8");
  EXPECT_EQ(server.WordsOf({}), "");
}

TEST(AdmitCommand, SendsWhatTheSchedulerGives) {
  Admissions server;
  server.Run({"--devices=16", "--accelerator=h100-sxm", "--node-type=dgx-h100", "--budget=0.3s",
              "--scheduler=slurm", "--job-name=j", "--user=u", "--unanswered=2", "--errors=1", "--",
              "gpt2"});
  ExpectSame(server.answering.request, FromJson<v1::AdmitRequest>(R"({
      "words": "gpt2", "device_count": 16, "accelerator": "h100-sxm", "node_type": "dgx-h100",
      "budget": "0.300s", "caller": {"scheduler": "SCHEDULER_SLURM", "job_name": "j", "user": "u",
                                     "unanswered_count": 2, "error_count": 1}
      })"));
}

TEST(AdmitCommand, PrintsTheVerdictAndTheChange) {
  Admissions server;
  EXPECT_EQ(server.Run({"gpt2"}).out, "DOES NOT FIT: x\n--zero=optimizer (now none): 52.77 GiB\n");
  EXPECT_EQ(server.Run({"gpt2", "--output=line"}).out, "DOES NOT FIT: x\n");
  EXPECT_THAT(server.Run({"gpt2", "--output=json"}).out, HasSubstr("VERDICT_DOES_NOT_FIT"));
  server.answering.response.clear_change();
  server.answering.response.set_message("a\nb\x1b[2J");  // of a server that is not ours
  EXPECT_EQ(server.Run({"gpt2"}).out, "a b?[2J\n");
}

TEST(AdmitCommand, ExitsByItsVerdict) {
  Admissions server;
  const std::pair<v1::AdmitResponse::Verdict, int> codes[] = {
      {v1::AdmitResponse::VERDICT_FITS, 0},         {v1::AdmitResponse::VERDICT_TIGHT, 7},
      {v1::AdmitResponse::VERDICT_DOES_NOT_FIT, 1}, {v1::AdmitResponse::VERDICT_UNKNOWN, 10},
      {v1::AdmitResponse::VERDICT_UNSPECIFIED, 6},
  };
  for (const auto& [verdict, code] : codes) {
    server.answering.response.set_verdict(verdict);
    EXPECT_EQ(server.Run({"gpt2"}).exit_code, code) << verdict;
  }
  server.answering.status = FieldInvalid("words", "--config names a file");
  const Ran refused = server.Run({"gpt2"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("WORDS: --config names a file"));
}

TEST(AdmitCommand, IsOneOfThoseWithALine) {
  EXPECT_THAT(RunWith({"count", "gpt2", "--output=line"}).err,
              HasSubstr("sextant count has no verdict for --output=line"));
}

}  // namespace
}  // namespace sextant::client
