#include "tests/validation/megatron_arguments.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/validation/megatron_argument_lists.h"

namespace sextant {
namespace {

// True where an argument states the default.
bool IsNoop(const std::string& name, const nlohmann::json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  return (name == "optimizer" && value == "adam") || (name == "spec" && value == "local");
}

}  // namespace

absl::StatusOr<MegatronArguments> MegatronArguments::Parse(const std::string& text) {
  MegatronArguments out;
  out.values_ = nlohmann::json::parse(text, nullptr, false);
  if (!out.values_.is_object()) return absl::InvalidArgumentError("all_args is no JSON object");
  return out;
}

bool MegatronArguments::Flag(const std::string& name) const {
  const auto at = values_.find(name);
  if (at == values_.end()) return false;
  return at->is_boolean() ? at->get<bool>() : true;
}

double MegatronArguments::Number(const std::string& name, double otherwise) const {
  const auto at = values_.find(name);
  if (at == values_.end()) return otherwise;
  if (at->is_number()) return at->get<double>();
  double out = 0;
  return at->is_string() && absl::SimpleAtod(at->get<std::string>(), &out) ? out : otherwise;
}

int64_t MegatronArguments::Count(const std::string& name, int64_t otherwise) const {
  return static_cast<int64_t>(Number(name, static_cast<double>(otherwise)));
}

std::string MegatronArguments::Text(const std::string& name, const std::string& otherwise) const {
  const auto at = values_.find(name);
  if (at == values_.end()) return otherwise;
  return at->is_string() ? at->get<std::string>() : at->dump();
}

absl::optional<std::string> MegatronArguments::Undescribed() const {
  for (const ArgumentObstacle& obstacle : ArgumentObstacles()) {
    for (const absl::string_view argument : obstacle.arguments) {
      const auto at = values_.find(std::string(argument));
      if (at != values_.end() && !IsNoop(at.key(), *at)) return std::string(obstacle.reason);
    }
  }
  for (const auto& [name, value] : values_.items()) {
    if (!IsNoop(name, value) && !IsJudged(name)) {
      return absl::StrCat("argument --", name, " is of unknown effect");
    }
  }
  return absl::nullopt;
}

}  // namespace sextant
