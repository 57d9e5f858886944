#include "server/security/access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"

namespace sextant::server {
namespace {

// Methods that are closed to other hosts, and the options that open them.
struct Privileged {
  absl::string_view method;
  absl::string_view flag;
  bool AccessOptions::*allowed;
};

constexpr Privileged kPrivileged[] = {
    {"RunProbe", "--allow_remote_probe", &AccessOptions::allows_remote_probe},
    {"ReportProgress", "--allow_remote_reports", &AccessOptions::allows_remote_reports}};
constexpr size_t kMinTokenBytes = 16;

// "PlanRun" of "sextant.v1.PlanningService/PlanRun".
absl::string_view Called(absl::string_view method) { return method.substr(method.rfind('/') + 1); }

// Null: it is not privileged.
const Privileged* PrivilegeOf(absl::string_view called) {
  const auto* const found =
      std::find_if(std::begin(kPrivileged), std::end(kPrivileged),
                   [called](const Privileged& each) { return each.method == called; });
  return found == std::end(kPrivileged) ? nullptr : found;
}

std::string Sha256(absl::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

// The words of each line that has any, by the line's number.
std::vector<std::pair<int, std::vector<absl::string_view>>> LinesOf(absl::string_view text) {
  std::vector<std::pair<int, std::vector<absl::string_view>>> out;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = line.substr(0, line.find('#'));
    std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (!words.empty()) out.emplace_back(number, std::move(words));
  }
  return out;
}

absl::Status Missing(absl::string_view message) {
  return WithReason(absl::UnauthenticatedError(message), "IDENTITY_MISSING");
}

absl::Status Refused(absl::string_view message) {
  return WithReason(absl::PermissionDeniedError(message), "IDENTITY_REFUSED");
}

bool Names(const AccessRule& rule, absl::string_view name) {
  return std::any_of(rule.names.begin(), rule.names.end(), [name](const std::string& each) {
    return each == name || (each == "*" && !name.empty());
  });
}

}  // namespace

absl::StatusOr<std::vector<Token>> ParseTokens(absl::string_view text) {
  std::vector<Token> out;
  for (const auto& [number, words] : LinesOf(text)) {
    const auto wrong = [line = number](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
    };
    if (words.size() < 2 || words.size() > 3) return wrong("write NAME TOKEN [EXPIRES]");
    if (words[1].size() < kMinTokenBytes) {
      return wrong(absl::StrCat("a token has at least ", kMinTokenBytes, " characters"));
    }
    Token token = {.name = std::string(words[0]), .sha256 = Sha256(words[1])};
    std::string error;
    if (words.size() == 3 &&
        !absl::ParseTime(absl::RFC3339_full, words[2], &token.expires, &error)) {
      return wrong("EXPIRES is a time such as 2027-01-31T00:00:00Z");
    }
    out.push_back(std::move(token));
  }
  return out;
}

absl::StatusOr<std::vector<AccessRule>> ParseAccessRules(absl::string_view text) {
  std::vector<AccessRule> out;
  for (const auto& [number, words] : LinesOf(text)) {
    if (words.size() < 2) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": write METHOD NAME..."));
    }
    out.push_back({.method = std::string(words[0]), .names = {words.begin() + 1, words.end()}});
  }
  return out;
}

absl::StatusOr<std::unique_ptr<Access>> Access::Load(const AccessOptions& options) {
  std::unique_ptr<Access> out(new Access(options));
  if (!options.token_file.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(out->tokens_, WatchedFile<std::vector<Token>>::Load(
                                               "--token_file", options.token_file, ParseTokens));
  }
  if (!options.access_file.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(out->rules_,
                             WatchedFile<std::vector<AccessRule>>::Load(
                                 "--access_file", options.access_file, ParseAccessRules));
  }
  return out;
}

bool Access::Concerns(absl::string_view method) const {
  return options_.demands_certificate || tokens_ != nullptr || rules_ != nullptr ||
         PrivilegeOf(Called(method)) != nullptr;
}

absl::StatusOr<std::string> Access::NameOf(const Caller& caller, absl::Time now) const {
  if (options_.demands_certificate && caller.certificate_name.empty()) {
    return Missing("show a client certificate that --tls_client_ca signed and that has a name");
  }
  if (tokens_ == nullptr) return caller.certificate_name;
  absl::string_view sent = caller.authorization;
  if (!absl::ConsumePrefix(&sent, "Bearer ")) {
    return Missing("send the metadata authorization: Bearer <token>");
  }
  const std::string digest = Sha256(absl::StripAsciiWhitespace(sent));
  const auto tokens = tokens_->Latest();
  const Token* found = nullptr;
  for (const Token& token : *tokens) {  // all of them: time tells nothing
    if (CRYPTO_memcmp(token.sha256.data(), digest.data(), digest.size()) == 0) found = &token;
  }
  if (found == nullptr) return Missing("the bearer token is not one of this server's");
  if (found->expires <= now) return Missing("the bearer token has expired: ask for a new one");
  return found->name;
}

absl::Status Access::Check(absl::string_view method, const Caller& caller,
                           absl::string_view name) const {
  const absl::string_view called = Called(method);
  const Privileged* const privileged = PrivilegeOf(called);
  if (rules_ == nullptr) {
    if (privileged == nullptr || caller.is_on_this_host || options_.*privileged->allowed) {
      return absl::OkStatus();
    }
    return Refused(absl::StrCat(
        called, " is for callers on the server's host: call it there, name the caller in a line \"",
        called, " NAME\" of its --access_file, or start it with ", privileged->flag));
  }
  const auto rules = rules_->Latest();
  const auto is_of_method = [called](const AccessRule& rule) { return rule.method == called; };
  const bool is_named = std::any_of(rules->begin(), rules->end(), is_of_method);
  for (const AccessRule& rule : *rules) {
    const bool applies =
        is_named ? is_of_method(rule) : privileged == nullptr && rule.method == "*";
    if (applies && Names(rule, name)) return absl::OkStatus();
  }
  return Refused(absl::StrCat("the server's access file does not let ",
                              name.empty() ? "callers without a name" : name, " call ", called));
}

absl::StatusOr<std::string> Access::Admit(absl::string_view method, const Caller& caller,
                                          absl::Time now) const {
  if (caller.is_by_unix_socket) return std::string();
  SEXTANT_ASSIGN_OR_RETURN(std::string name, NameOf(caller, now));
  SEXTANT_RETURN_IF_ERROR(Check(method, caller, name));
  return name;
}

}  // namespace sextant::server
