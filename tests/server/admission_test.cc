// Admissions one after the other, without a server: their counts, and lines that nobody should
// write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "server/call/worker_pool.h"
#include "server/handler/admit_answer.h"
#include "tests/server/admit_requests.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

// A call whose caller waits.
class WaitingCall final : public CallContext {
 public:
  std::string peer() const override { return "unix:"; }
  std::string certificate_name() const override { return ""; }
  absl::string_view authorization() const override { return ""; }
  absl::string_view traceparent() const override { return ""; }
  std::chrono::system_clock::time_point deadline() const override {
    return std::chrono::system_clock::time_point::max();
  }
  bool IsCancelled() const override { return false; }
  void Cancel() override {}
};

// Admissions without a server, one after the other.
class Judge {
 public:
  absl::Status Ask(const v1::AdmitRequest& request, v1::AdmitResponse* response) {
    Admission admission(call_, {.metrics = &metrics_,
                                .calibrations = [this] { return host_; },
                                .now = [] { return absl::UnixEpoch(); },
                                .supplied = &supplied_});
    admission.Read(request);
    if (!admission.is_decided()) admission.Plan(absl::OkStatus());
    EXPECT_TRUE(admission.is_decided());
    return admission.Take(request.caller(), response);
  }
  // The count of a series.
  double Count(const std::string& caller, const std::string& verdict) {
    return metrics_.admissions().judged(caller.c_str(), verdict.c_str()).Value();
  }
  // The series of what hooks have counted: "metric caller" and its count.
  std::map<std::string, double> HookCounts() const {
    std::map<std::string, double> counts;
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      if (family.name != "sextant_admissions_unanswered_total" &&
          family.name != "sextant_hook_errors_total") {
        continue;
      }
      for (const prometheus::ClientMetric& metric : family.metric) {
        counts[absl::StrCat(family.name, " ", metric.label.at(0).value)] = metric.counter.value;
      }
    }
    return counts;
  }

 private:
  WaitingCall call_;
  const std::shared_ptr<const CalibrationSnapshot> host_ =
      std::make_shared<const CalibrationSnapshot>();
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  SuppliedCalibrations supplied_;
};

TEST(Admission, IsCounted) {
  Judge judge;
  v1::AdmitResponse response;
  v1::AdmitRequest request = AdmitRequestOf(kWordsThatFit);
  ASSERT_TRUE(judge.Ask(request, &response).ok());
  request.mutable_caller()->set_scheduler(v1::AdmitCaller::SCHEDULER_SLURM);
  request.set_words("");
  ASSERT_TRUE(judge.Ask(request, &response).ok());
  request.set_words("--svg=x");
  ASSERT_FALSE(judge.Ask(request, &response).ok());
  EXPECT_EQ(judge.Count("other", "fits"), 1);
  EXPECT_EQ(judge.Count("slurm", "unknown"), 1);
  EXPECT_EQ(judge.Count("slurm", "refused"), 1);
}

TEST(Admission, AddsWhatTheHookHasCountedOnceAndWhereItIsAnswered) {
  Judge judge;
  v1::AdmitResponse response;
  v1::AdmitRequest request = AdmitRequestOf("");  // UNKNOWN
  ASSERT_TRUE(judge.Ask(request, &response).ok());
  EXPECT_THAT(judge.HookCounts(), IsEmpty());
  request.mutable_caller()->set_scheduler(v1::AdmitCaller::SCHEDULER_SLURM);
  request.mutable_caller()->set_unanswered_count(3);
  ASSERT_TRUE(judge.Ask(request, &response).ok());
  EXPECT_THAT(judge.HookCounts(),
              ElementsAre(Pair("sextant_admissions_unanswered_total slurm", 3)));
  request.set_words("--svg=x");
  request.mutable_caller()->set_unanswered_count(1'000'000);
  request.mutable_caller()->set_error_count(2);
  ASSERT_FALSE(judge.Ask(request, &response).ok());
  // The error names other fields, too: the hook has no answer, and sends its counts again.
  request.mutable_caller()->set_user(std::string(257, 'u'));
  ASSERT_FALSE(judge.Ask(request, &response).ok());
  request.clear_words();
  ASSERT_FALSE(judge.Ask(request, &response).ok());
  EXPECT_THAT(judge.HookCounts(),
              ElementsAre(Pair("sextant_admissions_unanswered_total slurm", 1'000'003),
                          Pair("sextant_hook_errors_total slurm", 2)));
}

// A busy planner lets jobs start.
TEST(Admission, IsInDoubtWithoutAThread) {
  AdmitQuestion question;
  v1::AdmitResponse response;
  ASSERT_TRUE(RefusalTo(question, ServerBusy("too many calls wait"), &response).ok());
  EXPECT_EQ(response.verdict(), v1::AdmitResponse::VERDICT_UNKNOWN);
  EXPECT_THAT(response.message(), StartsWith("UNKNOWN: too many calls wait"));
  EXPECT_FALSE(RefusalTo(question, absl::InternalError("broken"), &response).ok());
}

bool IsOneShortLine(const std::string& text) {
  return text.size() <= 400 && absl::c_all_of(text, [](char c) {
           return absl::ascii_isprint(static_cast<unsigned char>(c));
         });
}

// Lines that people write, and what nobody should.
const std::vector<std::string>& Pieces() {
  static const auto* const pieces = new std::vector<std::string>{"llama-3.1-8b",
                                                                 "llama-3.1-70b",
                                                                 "mixtral-8x7b",
                                                                 "gpt2",
                                                                 "--tp=8",
                                                                 "tp=2",
                                                                 "--pp 4",
                                                                 "pp=2",
                                                                 "--gbs=64",
                                                                 "gbs=32",
                                                                 "--sequence-length=8192",
                                                                 "sequence-length=4Ki",
                                                                 "--zero=1",
                                                                 "zero=3",
                                                                 "--tokens=15T",
                                                                 "--recompute=full",
                                                                 "--mbs=2",
                                                                 "--cp=2",
                                                                 "--ep=8",
                                                                 "--vpp=2",
                                                                 "--sp=true",
                                                                 "--lora-rank=16",
                                                                 "--freeze-base",
                                                                 "--framework=torchtitan",
                                                                 "--optimizer=muon",
                                                                 "--devices=8",
                                                                 "--config=/etc/shadow",
                                                                 "--emit-to=victim",
                                                                 "--svg=x",
                                                                 "--request=-",
                                                                 "--model=/etc/passwd",
                                                                 "/etc/shadow",
                                                                 "~root",
                                                                 "$(id)",
                                                                 "`id`",
                                                                 "$HOME",
                                                                 "'",
                                                                 "\"",
                                                                 "\\",
                                                                 "..",
                                                                 "-",
                                                                 "--",
                                                                 "=",
                                                                 "--=",
                                                                 "=8",
                                                                 "--tp=",
                                                                 "--tp=99999999999999999999",
                                                                 "--tp=-1",
                                                                 "--tp=1e400",
                                                                 "--mbs=0",
                                                                 "--gbs=1e18",
                                                                 "--fits-chance=nan",
                                                                 "--dropout=x",
                                                                 "--address=a:1",
                                                                 "--batch-ramp=1:1",
                                                                 "--layers-per-chunk=1x1",
                                                                 "--unmodelled=x",
                                                                 std::string("\0", 1),
                                                                 "\x1b[2J",
                                                                 "\xff\xfe",
                                                                 "\xe2\x80\xae",
                                                                 "\n",
                                                                 "\t",
                                                                 "\r",
                                                                 "%s%n",
                                                                 "{\"a\":1}",
                                                                 "😀"};
  return *pieces;
}

class LineMutator {
 public:
  explicit LineMutator(uint32_t seed) : random_(seed) {}

  std::string Next() {
    std::string line;
    const size_t pieces = Below(12);
    for (size_t i = 0; i < pieces; ++i) {
      absl::StrAppend(&line, Pieces()[Below(Pieces().size())], Below(8) == 0 ? "" : " ");
    }
    for (size_t i = Below(4); i > 0 && !line.empty(); --i) Mutate(&line);
    if (Below(200) == 0) line.resize(Below(5000), 'x');
    return line;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }
  void Mutate(std::string* line) {
    const size_t at = Below(line->size());
    switch (Below(4)) {
      case 0:
        (*line)[at] = static_cast<char>(Below(256));
        break;
      case 1:
        line->insert(at, 1, static_cast<char>(Below(256)));
        break;
      case 2:
        line->erase(at, 1 + Below(4));
        break;
      default:
        line->insert(at, line->substr(Below(line->size()), Below(20)));
    }
  }

  std::mt19937 random_;
};

TEST(Admission, AnswersMutatedLinesWithAVerdictOrTheWordThatIsWrong) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kLines = 5'000;  // each plans a run, twelve times as long
#else
  constexpr int kLines = 100'000;
#endif
  Judge judge;
  LineMutator lines(49);
  v1::AdmitRequest request = AdmitRequestOf("", 16);
  request.clear_budget();
  int judged = 0;
  for (int i = 0; i < kLines; ++i) {
    request.set_words(lines.Next());
    v1::AdmitResponse response;
    const absl::Status status = judge.Ask(request, &response);
    if (status.ok()) {
      ++judged;
      ASSERT_NE(response.verdict(), v1::AdmitResponse::VERDICT_UNSPECIFIED) << request.words();
      ASSERT_TRUE(IsOneShortLine(response.message())) << request.words();
      ASSERT_TRUE(IsOneShortLine(response.change())) << request.words();
      continue;
    }
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << request.words() << status;
    const std::vector<FieldViolation> violations = FieldViolationsOf(status);
    ASSERT_FALSE(violations.empty()) << request.words() << status;
    for (const FieldViolation& each : violations) {
      ASSERT_EQ(each.field, "words") << request.words() << status;
      ASSERT_TRUE(IsOneShortLine(each.description)) << each.description;
    }
  }
  EXPECT_GT(judged, kLines / 100);
}

}  // namespace
}  // namespace sextant::server
