// Calls a sextantd for a long time, as schedulers would: plans, layouts, searches, mistakes,
// callers who leave, scrapes, and files that are replaced. Each answer is compared with that of a
// server of its own which does nothing else; memory, descriptors and threads of the server are
// watched.
#include <dirent.h>
#include <grpcpp/create_channel.h>
#include <httplib.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "sextant/v1/planning_service.grpc.pb.h"
#include "tests/benchmarks/server_process.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr char kToken[] = "0123456789abcdef";
constexpr int kCallers = 8;

struct SoakOptions {
  std::string program;
  double seconds = 1800;
  double load = 0.8;         // of the calls a second that it answers at most
  double warm_seconds = 60;  // before the first figures count
  double sample_seconds = 10;
};

// The server's memory, from /proc.
struct Holdings {
  long resident_kibibytes = 0;
  long descriptors = 0;
  long threads = 0;
};

Holdings HoldingsOf(pid_t pid) {
  Holdings out;
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) out.resident_kibibytes = std::stol(line.substr(6));
    if (line.rfind("Threads:", 0) == 0) out.threads = std::stol(line.substr(8));
  }
  if (DIR* const files = opendir((folder + "/fd").c_str())) {
    while (readdir(files) != nullptr) ++out.descriptors;
    closedir(files);
  }
  return out;
}

// A request and what every server answers it with.
struct Question {
  v1::PlanRunRequest request;
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string answer = {};  // its bytes
};

v1::PlanRunRequest PlanOf(const std::string& preset, int64_t devices) {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset(preset);
  out.mutable_training()->set_token_count(1'000'000'000'000);
  out.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  out.mutable_cluster()->set_device_count(devices);
  return out;
}

v1::PlanRunRequest LayoutOf(const std::string& preset, int64_t devices, int64_t length) {
  v1::PlanRunRequest out = PlanOf(preset, devices);
  out.mutable_training()->set_sequence_length(length);
  out.mutable_cluster()->set_node_type("dgx-h100");
  v1::RunLayout& layout = *out.mutable_layout();
  layout.set_global_batch_size(devices);
  layout.mutable_parallel()->set_tensor_parallel_size(8);
  layout.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return out;
}

// Nine tenths plans and layouts, the rest searches and mistakes.
std::vector<Question> Questions() {
  std::vector<Question> out;
  for (const char* preset : {"llama-3.1-8b", "llama-3.1-70b", "gpt2", "mixtral-8x7b"}) {
    for (const int64_t devices : {8, 64, 1024}) {
      out.push_back({.request = PlanOf(preset, devices)});
      out.back().request.mutable_options()->set_view(devices == 64 ? v1::PLAN_VIEW_FULL
                                                                   : v1::PLAN_VIEW_BASIC);
    }
  }
  for (const int64_t length : {2048, 4096, 8192}) {
    out.push_back({.request = LayoutOf("llama-3.1-8b", 64, length)});
    out.push_back({.request = LayoutOf("llama-3.1-70b", 64, length)});
  }
  Question search = {.request = LayoutOf("llama-3.1-8b", 8, 4096)};
  search.request.clear_layout();
  search.request.mutable_layout()->set_global_batch_size(64);
  search.request.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED);
  out.push_back(search);
  Question mistake = {.request = PlanOf("llama-9-900b", 8)};
  out.push_back(mistake);
  mistake.request = PlanOf("gpt2", -1);
  out.push_back(mistake);
  return out;
}

// A caller's side of one server.
class Planner {
 public:
  explicit Planner(const std::string& address)
      : stub_(v1::PlanningService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  grpc::StatusCode Ask(const v1::PlanRunRequest& request, double timeout_seconds,
                       std::string* answer) const {
    grpc::ClientContext context;
    context.AddMetadata("authorization", std::string("Bearer ") + kToken);
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::microseconds(static_cast<int64_t>(timeout_seconds * 1e6)));
    v1::PlanRunResponse response;
    const grpc::Status status = stub_->PlanRun(&context, request, &response);
    *answer = response.SerializeAsString();
    return status.error_code();
  }

 private:
  std::unique_ptr<v1::PlanningService::Stub> stub_;
};

// The program under test, killed with this.
class Program {
 public:
  Program(const std::string& path, const std::string& token_file) {
    int log[2];
    if (pipe(log) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(log[1], STDERR_FILENO);
      close(log[0]);
      close(log[1]);
      execl(path.c_str(), path.c_str(), "--listen=127.0.0.1:0", "--http_listen=127.0.0.1:0",
            "--calibration_directory=none", "--log_calls=none",
            ("--token_file=" + token_file).c_str(), nullptr);
      std::_Exit(127);
    }
    close(log[1]);
    std::string line;
    for (char c = 0; c != '\n' && read(log[0], &c, 1) == 1;) line += c;
    const Json started = Json::parse(line);
    grpc_ = started["grpc"][0];
    http_ = started["http"];
    // Events of files that are read again are few enough for the pipe to hold.
    log_ = log[0];
  }
  ~Program() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    close(log_);
  }

  pid_t pid() const { return pid_; }
  const std::string& grpc() const { return grpc_; }
  const std::string& http() const { return http_; }

 private:
  pid_t pid_ = 0;
  int log_ = -1;
  std::string grpc_;
  std::string http_;
};

struct Counts {
  std::atomic<int64_t> answered{0};
  std::atomic<int64_t> left{0};   // the caller's deadline came first
  std::atomic<int64_t> wrong{0};  // another code or other bytes
  std::atomic<int64_t> scrapes{0};
};

// Calls until `end`, with `pause` between the starts of two calls.
void Call(const Planner& planner, const std::vector<Question>& questions, unsigned seed,
          Clock::time_point end, std::chrono::nanoseconds pause, Counts& counts) {
  std::mt19937 random(seed);
  std::string answer;
  for (Clock::time_point next = Clock::now(); Clock::now() < end; next += pause) {
    std::this_thread::sleep_until(next);
    const Question& question = questions[random() % questions.size()];
    const bool leaves = random() % 20 == 0;
    const grpc::StatusCode code = planner.Ask(question.request, leaves ? 5e-4 : 60, &answer);
    if (leaves && code == grpc::StatusCode::DEADLINE_EXCEEDED) {
      ++counts.left;
      continue;
    }
    ++counts.answered;
    if (code == question.code && answer == question.answer) continue;
    ++counts.wrong;
    std::fprintf(stderr, "wrong: code %d, expected %d\n", code, question.code);
  }
}

// Runs kCallers for `seconds`, each with `pause`; returns what they did a second.
double Load(const Planner& planner, const std::vector<Question>& questions, double seconds,
            std::chrono::nanoseconds pause, Counts& counts) {
  const auto start = Clock::now();
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const int64_t before = counts.answered + counts.left;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back(
        [&, i] { Call(planner, questions, static_cast<unsigned>(i) + 1, end, pause, counts); });
  }
  for (std::thread& caller : callers) caller.join();
  const std::chrono::duration<double> took = Clock::now() - start;
  return static_cast<double>(counts.answered + counts.left - before) / took.count();
}

void WriteTokens(const std::string& file, int version) {
  std::ofstream(file + ".new") << "# version " << version << "\nsoak " << kToken << "\n";
  std::rename((file + ".new").c_str(), file.c_str());
}

int Soak(const SoakOptions& options) {
  const TemporaryFolder folder;
  const std::string token_file = folder.File("tokens");
  WriteTokens(token_file, 0);
  const Program program(options.program, token_file);
  std::vector<Question> questions = Questions();
  {
    const auto oracle = Server::Start(BareServer());
    if (!oracle.ok()) return 2;
    const Planner planner((*oracle)->grpc_addresses()[0]);
    for (Question& q : questions) q.code = planner.Ask(q.request, 60, &q.answer);
  }
  const Planner planner(program.grpc());
  Counts counts;
  const double most = Load(planner, questions, 5, std::chrono::nanoseconds(0), counts);
  const std::chrono::nanoseconds pause(
      static_cast<int64_t>(1e9 * kCallers / (most * options.load)));
  std::printf("at most %.0f calls a second; soaking at %.0f %% of that\n", most,
              100 * options.load);
  std::printf("%8s %12s %12s %8s %8s\n", "seconds", "RSS KiB", "descriptors", "threads", "wrong");

  std::thread load([&] { Load(planner, questions, options.seconds, pause, counts); });
  httplib::Client http("http://" + program.http());
  http.set_bearer_token_auth(kToken);
  Holdings warm;
  Holdings last;
  const auto start = Clock::now();
  for (int sample = 1; sample * options.sample_seconds <= options.seconds; ++sample) {
    std::this_thread::sleep_until(
        start + std::chrono::duration_cast<Clock::duration>(
                    std::chrono::duration<double>(sample * options.sample_seconds)));
    WriteTokens(token_file, sample);
    const auto scraped = http.Get("/metrics");
    if (scraped && scraped->status == 200) ++counts.scrapes;
    last = HoldingsOf(program.pid());
    const double seconds = sample * options.sample_seconds;
    if (seconds <= options.warm_seconds) warm = last;
    std::printf("%8.0f %12ld %12ld %8ld %8ld\n", seconds, last.resident_kibibytes, last.descriptors,
                last.threads, static_cast<long>(counts.wrong));
    std::fflush(stdout);
  }
  load.join();
  std::printf("%ld answered, %ld left before their answer, %ld scraped, %ld wrong\n",
              static_cast<long>(counts.answered), static_cast<long>(counts.left),
              static_cast<long>(counts.scrapes), static_cast<long>(counts.wrong));
  const bool grew = last.resident_kibibytes > warm.resident_kibibytes * 11 / 10 + 8192 ||
                    last.descriptors > warm.descriptors + 4 || last.threads > warm.threads + 4;
  if (grew) std::printf("it grew since second %.0f\n", options.warm_seconds);
  return counts.wrong == 0 && !grew ? 0 : 1;
}

}  // namespace
}  // namespace sextant::server

// NOLINTNEXTLINE(bugprone-exception-escape): an error ends the program.
int main(int argc, char** argv) {
  sextant::server::SoakOptions options;
  CLI::App app("Calls a sextantd for a long time; exit 1 where it answered wrongly or grew");
  app.add_option("program", options.program, "the sextantd")->required();
  app.add_option("--seconds", options.seconds)->capture_default_str();
  app.add_option("--load", options.load, "of what it answers at most")->capture_default_str();
  app.add_option("--warm_seconds", options.warm_seconds)->capture_default_str();
  app.add_option("--sample_seconds", options.sample_seconds)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return sextant::server::Soak(options);
}
