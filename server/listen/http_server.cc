#include "server/listen/http_server.h"

#include <openssl/sha.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "proto/openapi/openapi.h"
#include "server/listen/http_connection.h"
#include "server/listen/http_failure.h"
#include "server/listen/http_gzip.h"
#include "server/listen/http_head.h"
#include "server/listen/http_reply.h"
#include "server/listen/listener.h"
#include "server/page/page_files.h"

namespace sextant::server {
namespace {

constexpr char kText[] = "text/plain; charset=utf-8";

// A document runs no script, and stands in no other page.
constexpr char kDocumentPolicy[] = "default-src 'none'; frame-ancestors 'none'";
// The page runs its own files and makes its own calls, whatever a link or an answer holds.
constexpr char kPagePolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// A weak tag: one for the content, whatever encoding it is sent in.
std::string TagOf(absl::string_view gzip) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(gzip.data()), gzip.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return absl::StrCat("W/\"", absl::BytesToHexString(digest), "\"");
}

// A document that is kept compressed, unless the client has it.
HttpAnswer Kept(absl::string_view content_type, absl::string_view gzip, const HttpHead& head) {
  const std::string tag = TagOf(gzip);
  HttpAnswer out = {.content_type = std::string(content_type), .body = ""};
  out.headers = {{"ETag", tag}};
  if (absl::StrContains(head.Header("if-none-match"), tag)) {
    out.status = 304;  // not modified
  } else if (TakesGzip(head.Header("accept-encoding"))) {
    out.body = std::string(gzip);
    out.headers.emplace_back("Content-Encoding", "gzip");
    out.headers.emplace_back("Vary", "Accept-Encoding");
  } else {
    out.body = Inflate(gzip);
  }
  return out;
}

// For curl and its kin, and where sextantd was built without a page.
HttpAnswer IndexText(bool has_page) {
  return {
      .content_type = "text/html; charset=utf-8",
      .body = absl::StrCat(
          "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
          "<title>sextantd</title>\n<h1>sextantd ",
          EngineVersion(),
          "</h1>\n<p>Plans large-model training runs. The API, package <code>sextant.v1</code>, "
          "is gRPC on a port of its own, with reflection, and here the Connect protocol: "
          "<code>POST /sextant.v1.PlanningService/PlanRun</code> with JSON.</p>\n<p>",
          has_page ? "Open this address in a browser to plan on a page."
                   : "This sextantd was built without its page for browsers (SEXTANT_PAGE).",
          "</p>\n<ul>\n"
          "<li><a href=\"/openapi.json\">/openapi.json</a>: the API over HTTP</li>\n"
          "<li><a href=\"/metrics\">/metrics</a>: Prometheus metrics</li>\n"
          "<li><a href=\"/healthz\">/healthz</a>: the process answers</li>\n"
          "<li><a href=\"/readyz\">/readyz</a>: it takes calls</li>\n"
          "<li><a href=\"/version\">/version</a>: what runs</li>\n</ul>\n</html>\n"),
      .headers = {{"Content-Security-Policy", kDocumentPolicy}, {"Vary", "Accept"}}};
}

// The page for browsers, which name text/html in what they take.
HttpAnswer IndexPage(const HttpOptions&, const HttpHead& head) {
  const absl::optional<PageFile> page = PageFileOf("/");
  if (!page.has_value() || !absl::StrContains(head.Header("accept"), "text/html")) {
    return IndexText(page.has_value());
  }
  HttpAnswer out = Kept(page->content_type, page->gzip, head);
  out.headers.emplace_back("Vary", "Accept");
  out.headers.emplace_back("Cache-Control", "no-cache");
  out.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  out.headers.emplace_back("Referrer-Policy", "no-referrer");
  return out;
}

// Its script and its style, whose names change with the content.
HttpAnswer PageFilePage(const HttpOptions&, const HttpHead& head) {
  const PageFile file = *PageFileOf(head.path);
  HttpAnswer out = Kept(file.content_type, file.gzip, head);
  out.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  out.headers.emplace_back("Content-Security-Policy", kDocumentPolicy);
  return out;
}

HttpAnswer HealthPage(const HttpOptions&, const HttpHead&) {
  return {.content_type = kText, .body = "ok\n"};
}

HttpAnswer ReadyPage(const HttpOptions& options, const HttpHead&) {
  if (options.ready()) return {.content_type = kText, .body = "ready\n"};
  return FailureAnswer(HttpError(HttpFault::kBusy, "not ready"));
}

HttpAnswer VersionPage(const HttpOptions&, const HttpHead&) {
  return {.content_type = "application/json",
          .body = absl::StrCat(R"({"version":")", EngineVersion(), R"(","api":"sextant.v1"})")};
}

// A family may come from several: the format has each name once.
void Add(prometheus::MetricFamily family, std::vector<prometheus::MetricFamily>& all) {
  for (prometheus::MetricFamily& known : all) {
    if (known.name != family.name) continue;
    std::move(family.metric.begin(), family.metric.end(), std::back_inserter(known.metric));
    return;
  }
  all.push_back(std::move(family));
}

HttpAnswer MetricsPage(const HttpOptions& options, const HttpHead&) {
  auto all = options.registry->Collect();
  for (const prometheus::Collectable* collectable : options.collectables) {
    for (auto& family : collectable->Collect()) Add(std::move(family), all);
  }
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = prometheus::TextSerializer().Serialize(all)};
}

HttpAnswer OpenApiPage(const HttpOptions&, const HttpHead& head) {
  return Kept("application/json", OpenApiGzip(), head);
}

struct HttpPage {
  absl::string_view path;
  bool is_health = false;   // for load balancers and kubelets, which call by any name
  bool has_access = false;  // is for callers that the access file lets read it
  HttpAnswer (*answer)(const HttpOptions& options, const HttpHead& head);
};

constexpr HttpPage kPages[] = {
    {.path = "/", .answer = IndexPage},
    {.path = "/healthz", .is_health = true, .answer = HealthPage},
    {.path = "/metrics", .has_access = true, .answer = MetricsPage},
    {.path = "/openapi.json", .answer = OpenApiPage},
    {.path = "/readyz", .is_health = true, .answer = ReadyPage},
    {.path = "/version", .answer = VersionPage},
};

// Null: no page has that path.
const HttpPage* PageOf(absl::string_view path) {
  const auto* const found =
      std::find_if(std::begin(kPages), std::end(kPages),
                   [path](const HttpPage& page) { return page.path == path; });
  if (found != std::end(kPages)) return found;
  static constexpr HttpPage kPageFile = {.path = "/page/*", .answer = PageFilePage};
  return PageFileOf(path).has_value() ? &kPageFile : nullptr;
}

// 128 connections have 64 threads, and at most 32 wait for one: so a newcomer ends the slowest
// connection before the listener has to close the newcomer. The threads wait, and leave computing
// to the worker pools, so that there may be more of them than processors; and less than a pool lets
// wait, so that not all 64 places are HTTP callers'.
HttpConnections::Limits LimitsOf(size_t max_connections) {
  constexpr size_t kConnectionsPerThread = 2;
  constexpr size_t kConnectionsPerWaiting = 4;
  return {.threads = std::max<size_t>(1, max_connections / kConnectionsPerThread),
          .waiting = std::max<size_t>(1, max_connections / kConnectionsPerWaiting)};
}

// API calls take at most three quarters of the threads: as many as the page had before there was an
// API, 16 of 64, stay for health and metrics.
size_t MaxCalls(size_t max_connections) { return LimitsOf(max_connections).threads * 3 / 4; }

constexpr char kPageMethods[] = "GET, HEAD, OPTIONS";
constexpr char kApiMethods[] = "GET, HEAD, POST, OPTIONS";

HttpAnswer UnknownMethod(absl::string_view allowed) {
  HttpAnswer out = FailureAnswer(
      HttpError(HttpFault::kUnknownMethod, absl::StrCat("the methods here are ", allowed)));
  out.headers.emplace_back("Allow", allowed);
  return out;
}

HttpAnswer Options(absl::string_view allowed) {
  return {
      .status = 204, .content_type = "", .body = "", .headers = {{"Allow", std::string(allowed)}}};
}

Caller CallerOf(const HttpReply& reply) {
  return {.certificate_name = reply.certificate_name(),
          .authorization = reply.Header("authorization")};
}

class OwnHttpServer final : public HttpServer {
 public:
  explicit OwnHttpServer(HttpOptions options)
      : options_(std::move(options)),
        places_(MaxCalls(options_.max_connections)),
        connections_(LimitsOf(options_.max_connections), options_.tls,
                     [this](HttpConnection& connection, const HttpHead& head) {
                       HttpReply reply(connection, head, places_);
                       Answer(head, connection.is_encrypted(), reply);
                       return reply.keeps_connection();
                     }) {}

  ~OwnHttpServer() override {
    if (listener_ != nullptr) listener_->Stop();
  }

  absl::Status Listen() {
    SEXTANT_ASSIGN_OR_RETURN(listener_,
                             Listener::Open({.addresses = {options_.address},
                                             .flag = "--http_listen",
                                             .max_connections = options_.max_connections}));
    listener_->Serve([this](int connection) { connections_.Take(connection); });
    return absl::OkStatus();
  }

  const std::string& address() const override { return listener_->addresses().front(); }

 private:
  void Answer(const HttpHead& head, bool is_encrypted, HttpReply& reply) {
    const HttpPage* const page = PageOf(head.path);
    const absl::Status admitted = Judge(head, page, is_encrypted, reply);
    if (!admitted.ok()) return reply.Answer(FailureAnswer(admitted));
    if (head.method == "OPTIONS") {
      return reply.Answer(Options(page != nullptr ? kPageMethods : kApiMethods));
    }
    if (page == nullptr) return AnswerCall(reply);
    if (reply.method() != "GET") return reply.Answer(UnknownMethod(kPageMethods));
    reply.Answer(page->answer(options_, head));
  }

  absl::Status Judge(const HttpHead& head, const HttpPage* page, bool is_encrypted,
                     const HttpReply& reply) const {
    if (head.kind == HttpHead::Kind::kRefused) return head.error;
    SEXTANT_RETURN_IF_ERROR(CheckEncoding(head));
    if (page != nullptr && page->is_health) return absl::OkStatus();
    SEXTANT_RETURN_IF_ERROR(CheckOrigin(head, is_encrypted));
    if (!IsKnown(CallerOf(reply))) {
      SEXTANT_RETURN_IF_ERROR(CheckHost(head.Header("host"), options_.hosts));
    }
    if (page == nullptr || !page->has_access || options_.access == nullptr) return absl::OkStatus();
    return options_.access->Admit(page->path, CallerOf(reply), absl::Now()).status();
  }

  // A browser that a page misleads shows no token of ours.
  bool IsKnown(const Caller& caller) const {
    if (options_.access == nullptr) return false;
    const auto name = options_.access->NameOf(caller, absl::Now());
    return name.ok() && !name->empty();
  }

  void AnswerCall(HttpReply& reply) {
    if (reply.method() != "GET" && reply.method() != "POST") {
      return reply.Answer(UnknownMethod(kApiMethods));
    }
    if (const absl::Status begun = reply.BeginCall(); !begun.ok()) {
      reply.Answer(FailureAnswer(begun));
    } else if (!options_.api || !options_.api(reply)) {
      reply.Answer(FailureAnswer(
          HttpError(HttpFault::kUnknownPath,
                    "no page or method has this path: /openapi.json has those of the API")));
    }
  }

  const HttpOptions options_;
  CallPlaces places_;
  std::unique_ptr<Listener> listener_;
  HttpConnections connections_;  // last: its threads use the rest
};

}  // namespace

HttpConnections::HttpConnections(Limits limits, TlsContext* tls, Answer answer)
    : max_waiting_(limits.waiting), tls_(tls), answer_(std::move(answer)) {
  for (size_t i = 0; i < limits.threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

HttpConnections::~HttpConnections() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    waiting_.clear();
    for (const auto& connection : served_) connection->Interrupt();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HttpConnections::Take(int descriptor) {
  auto connection = std::make_shared<HttpConnection>(
      descriptor, tls_ == nullptr ? HttpConnection::Ssl(nullptr, SSL_free) : tls_->NewConnection());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) return;
    waiting_.push_back(std::move(connection));
    if (waiting_.size() > idle_threads_) MakeRoom();
    if (waiting_.size() > idle_threads_ + max_waiting_) waiting_.pop_front();
  }
  changed_.notify_one();
}

void HttpConnections::MakeRoom() {
  std::map<std::string, size_t> of_peer;
  for (const auto& connection : served_) ++of_peer[connection->peer_host()];
  HttpConnection* chosen = nullptr;
  const auto goes_before = [&of_peer](const HttpConnection& a, const HttpConnection& b) {
    const size_t more = of_peer[a.peer_host()];
    const size_t fewer = of_peer[b.peer_host()];
    return more != fewer ? more > fewer : a.since() < b.since();
  };
  for (const auto& connection : served_) {
    if (!connection->blocked() || connection->interrupted()) continue;
    if (chosen == nullptr || goes_before(*connection, *chosen)) chosen = connection.get();
  }
  if (chosen != nullptr) chosen->Interrupt();
}

void HttpConnections::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_threads_;
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    --idle_threads_;
    if (ended_) return;
    // The newest first: room was made for it, and the older ones may be all of one client.
    const std::shared_ptr<HttpConnection> connection = std::move(waiting_.back());
    waiting_.pop_back();
    served_.push_back(connection);
    lock.unlock();
    while (const auto head = connection->AwaitRequest()) {
      if (!answer_(*connection, *head)) break;
    }
    connection->Linger();
    lock.lock();
    served_.erase(std::find(served_.begin(), served_.end(), connection));
  }
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options) {
  auto server = std::make_unique<OwnHttpServer>(std::move(options));
  if (absl::Status listening = server->Listen(); !listening.ok()) return listening;
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace sextant::server
