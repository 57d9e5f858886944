#include "server/listen/http_pages.h"

#include <openssl/sha.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/version.h"
#include "proto/openapi/openapi.h"
#include "server/listen/http_failure.h"
#include "server/listen/http_gzip.h"
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

constexpr HttpPage kPages[] = {
    {.path = "/", .answer = IndexPage},
    {.path = "/healthz", .is_health = true, .answer = HealthPage},
    {.path = "/metrics", .has_access = true, .answer = MetricsPage},
    {.path = "/openapi.json", .answer = OpenApiPage},
    {.path = "/readyz", .is_health = true, .answer = ReadyPage},
    {.path = "/version", .answer = VersionPage},
};

}  // namespace

const HttpPage* PageOf(absl::string_view path) {
  const auto* const found =
      std::find_if(std::begin(kPages), std::end(kPages),
                   [path](const HttpPage& page) { return page.path == path; });
  if (found != std::end(kPages)) return found;
  static constexpr HttpPage kPageFile = {.path = "/page/*", .answer = PageFilePage};
  return PageFileOf(path).has_value() ? &kPageFile : nullptr;
}

}  // namespace sextant::server
