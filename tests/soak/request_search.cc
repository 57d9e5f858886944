#include "tests/soak/request_search.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/create_channel.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <utility>

#include "tests/support/live_bytes.h"

namespace sextant::server {
namespace {

using Clock = std::chrono::steady_clock;
using google::protobuf::Message;

constexpr size_t kParents = 6;
// Long calls hold the most long before their end.
constexpr std::chrono::seconds kDeadline{10};

struct LongestList {
  Message* of = nullptr;
  const google::protobuf::FieldDescriptor* field = nullptr;
  int size = 0;

  void LookIn(Message* message) {
    const auto* const reflection = message->GetReflection();
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const auto* const each : fields) {
      const bool is_list = each->is_repeated();
      const int count = is_list ? reflection->FieldSize(*message, each) : 1;
      if (is_list && count > size) *this = {message, each, count};
      if (each->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      for (int i = 0; i < count; ++i) {
        LookIn(is_list ? reflection->MutableRepeatedMessage(message, each, i)
                       : reflection->MutableMessage(message, each));
      }
    }
  }
};

// Halves the longest list in `message` until it has at most `bytes`, or no list of two elements.
void Shrink(size_t bytes, Message* message) {
  while (message->ByteSizeLong() > bytes) {
    LongestList longest;
    longest.LookIn(message);
    if (longest.size < 2) return;
    for (int i = longest.size; i > longest.size / 2; --i) {
      longest.of->GetReflection()->RemoveLast(longest.of, longest.field);
    }
  }
}

// "12.34 ms", "12.34 MiB".
std::string TextOf(double cost, Cost kind) {
  char text[32];
  if (kind == Cost::kCpuSeconds) std::snprintf(text, sizeof(text), "%9.2f ms", 1e3 * cost);
  if (kind == Cost::kPeakBytes) std::snprintf(text, sizeof(text), "%9.2f MiB", cost / (1 << 20));
  return text;
}

}  // namespace

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

MeasuredCaller::MeasuredCaller(const std::string& address, Cost cost)
    : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())), cost_(cost) {}

void MeasuredCaller::Measure(const std::string& method, int times, FoundRequest& found) {
  for (int i = 0; i < times; ++i) {
    MarkCalibrations(found.message.get(), ++number_);
    const grpc::Slice slice(found.message->SerializeAsString());
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::ByteBuffer answer;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    std::promise<grpc::Status> done;
    const int64_t held = LiveBytes();
    ResetPeakBytes();
    const double start = CpuSeconds();
    stub_.UnaryCall(&context, "/sextant.v1." + method, {}, &bytes, &answer,
                    [&done](grpc::Status status) { done.set_value(std::move(status)); });
    const grpc::Status status = done.get_future().get();
    const double took =
        cost_ == Cost::kCpuSeconds ? CpuSeconds() - start : static_cast<double>(PeakBytes() - held);
    found.cost = i == 0 ? took : std::min(found.cost, took);
    found.code = status.error_code();
    found.error = status.error_message();
  }
}

bool Parents::Takes(double cost) const { return all_.size() < kParents || cost > all_.back().cost; }

void Parents::Add(const FoundRequest& found) {
  all_.insert(std::find_if(all_.begin(), all_.end(),
                           [&](const FoundRequest& each) { return each.cost < found.cost; }),
              found);
  if (all_.size() > kParents) all_.pop_back();
}

RequestSearch::RequestSearch(const RequestSearchOptions& options, const FieldValues& values,
                             MeasuredCaller& caller, std::string method)
    : options_(options), caller_(caller), method_(std::move(method)), mutation_(random_, values) {}

void RequestSearch::Start(const LimitRequest& limit) {
  FoundRequest found = {.message = limit.message, .from = limit.name};
  Shrink(options_.most_bytes, found.message.get());
  if (!IsAsked(found.message.get())) return;
  caller_.Measure(method_, options_.cost == Cost::kCpuSeconds ? 2 : 1, found);
  std::printf("  %s  %s%s%s\n", TextOf(found.cost, options_.cost).c_str(), limit.name.c_str(),
              found.error.empty() ? "" : ": ", found.error.substr(0, 200).c_str());
  std::fflush(stdout);
  Take(found);
}

void RequestSearch::Run() {
  if (legal_.empty() && refused_.empty()) return;  // all are larger than asked for
  const auto end = Clock::now() + std::chrono::duration<double>(options_.seconds);
  while (Clock::now() < end) Step();
}

void RequestSearch::Report() {
  for (Parents* parents : {&legal_, &refused_}) {
    if (parents->empty()) continue;
    FoundRequest best = parents->best();
    if (options_.cost == Cost::kCpuSeconds) caller_.Measure(method_, 5, best);
    std::printf("%-36s %-8s %s %8zu bytes  %s; %d tried\n", method_.c_str(),
                best.is_legal() ? "OK" : "refused", TextOf(best.cost, options_.cost).c_str(),
                best.message->ByteSizeLong(), best.from.c_str(), tried_);
    if (!best.error.empty()) std::printf("    %s\n", best.error.substr(0, 200).c_str());
    Write(best, parents == &legal_ ? "ok" : "refused");
  }
  std::fflush(stdout);
}

void RequestSearch::Step() {
  const bool of_legal = refused_.empty() || (!legal_.empty() && random_() % 8 != 0);
  const FoundRequest& parent = (of_legal ? legal_ : refused_).Any(random_);
  FoundRequest child = {.message = std::shared_ptr<Message>(parent.message->New()),
                        .from = parent.from};
  child.message->CopyFrom(*parent.message);
  for (unsigned i = 0; i <= random_() % 4; ++i) mutation_.Apply(child.message.get());
  if (!IsAsked(child.message.get())) return;
  caller_.Measure(method_, 1, child);
  ++tried_;
  Parents& parents = child.is_legal() ? legal_ : refused_;
  if (!parents.Takes(child.cost)) return;
  // Time may have been longer by chance.
  if (options_.cost == Cost::kCpuSeconds) caller_.Measure(method_, 2, child);
  Take(child);
}

bool RequestSearch::IsAsked(Message* message) const {
  return options_.is_asked(message) && message->ByteSizeLong() <= options_.most_bytes;
}

void RequestSearch::Take(const FoundRequest& found) {
  Parents& parents = found.is_legal() ? legal_ : refused_;
  if (parents.Takes(found.cost)) parents.Add(found);
}

void RequestSearch::Write(const FoundRequest& found, const std::string& kind) const {
  if (options_.folder.empty()) return;
  std::string name = method_.substr(method_.find('/') + 1);
  std::ofstream(options_.folder + "/" + name + "." + kind + ".pb", std::ios::binary)
      << found.message->SerializeAsString();
}

}  // namespace sextant::server
