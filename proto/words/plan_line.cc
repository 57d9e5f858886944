#include "proto/words/plan_line.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/text/enum_names.h"
#include "proto/text/format.h"
#include "proto/text/memory_words.h"
#include "proto/words/field_names.h"
#include "proto/words/field_path.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::words {
namespace {

using text::Gib;
using text::Grouped;

constexpr double kNotable = 0.05;  // of a peak

// A value as SetField() reads it.
std::string ValueText(const std::string& field, const v1::SettingValue& value) {
  if (value.has_number()) return absl::StrCat(value.number());
  if (value.has_enabled()) return value.enabled() ? "true" : "false";
  const auto* const found = FindField(*v1::PlanRunRequest::descriptor(), field);
  if (found == nullptr || found->enum_type() == nullptr) return value.enum_name();
  const auto* const name = found->enum_type()->FindValueByName(value.enum_name());
  return name == nullptr ? value.enum_name() : text::EnumName(*found->enum_type(), name->number());
}

// "--tp=8 (now 4)".
std::string SettingWords(const v1::ChangedSetting& setting) {
  return absl::StrCat(PlanFieldWord(setting.field()), "=",
                      ValueText(setting.field(), setting.new_value()), " (now ",
                      ValueText(setting.field(), setting.old_value()), ")");
}

// A bare count has no name.
std::string ModelOf(const v1::Plan& plan) {
  return plan.model_name().empty() || plan.model_name() == "parameters"
             ? absl::StrCat(Grouped(plan.parameters().total()), " parameters")
             : plan.model_name();
}

// " (not read: gating, and 2 more)": fields of a config.json that may stand for parameters.
std::string UnreadOf(const v1::Plan& plan) {
  const int count = plan.unread_config_fields_size();
  if (count == 0) return "";
  return absl::StrCat(" (not read: ", plan.unread_config_fields(0),
                      count == 1 ? "" : absl::StrCat(", and ", count - 1, " more"), ")");
}

// "16 x h100-sxm: 2 nodes x 8".
std::string DevicesOf(const v1::Plan& plan, int64_t per_node) {
  const int64_t count = plan.device_count();
  std::string out = absl::StrCat(Grouped(count), " x ", plan.device());
  if (per_node <= 0 || count <= 0) return out;
  const int64_t nodes = (count - 1) / per_node + 1;
  absl::StrAppend(&out, ": ", Grouped(nodes), nodes == 1 ? " node" : " nodes",
                  count % per_node == 0 || nodes == 1 ? " x " : " of ",
                  Grouped(std::min(count, per_node)));
  return out;
}

std::string MemoryOf(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  const std::string usable = absl::StrCat(" of ", Gib(memory.capacity().usable_bytes()), " usable");
  if (memory.scope() == v1::MEMORY_SCOPE_LAYOUT) {
    const std::string count = text::UnmodelledCount(memory);
    const std::string open = OpenChoicesWords(plan);
    return absl::StrCat(text::BoundText(memory), text::IntervalText(memory.peak_bytes()), usable,
                        count.empty() ? "" : absl::StrCat(", ", count),
                        open.empty() ? "" : absl::StrCat(", ", open));
  }
  return absl::StrCat(
      Gib(memory.peak_bytes().expected()), usable, ", ",
      memory.scope() == v1::MEMORY_SCOPE_MODEL_STATE ? "of model state alone" : "shared evenly");
}

// "; 19.70 days predicted"; "" where nothing is. Memory alone is asked for with one token.
std::string TimeOf(const v1::Plan& plan) {
  const auto found = absl::c_find_if(plan.estimates(), [](const v1::TimeEstimate& estimate) {
    return estimate.kind() == v1::ESTIMATE_KIND_PREDICTED;
  });
  if (found == plan.estimates().end() || plan.token_count() <= 1) return "";
  return absl::StrCat("; ", text::Duration(found->elapsed_seconds().expected()), " predicted");
}

}  // namespace

std::string OneLineOf(absl::string_view text) {
  constexpr char kCut[] = "...";
  std::string out(text.substr(0, kMaxLineLength));
  for (char& c : out) {
    if (c == '\n' || c == '\t') c = ' ';
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  if (text.size() > kMaxLineLength) out.replace(kMaxLineLength - 3, 3, kCut);
  return out;
}

std::string PlanLine(const v1::Plan& plan, const LineFacts& facts) {
  return OneLineOf(absl::StrCat(text::VerdictWords(plan.verdict()),
                                facts.misses.empty() ? "" : ", ", facts.misses, ": ",
                                text::HostVerdictText(plan.memory()), ModelOf(plan), UnreadOf(plan),
                                ", ", DevicesOf(plan, facts.devices_per_node),
                                FleetFallbackWords(plan), "; ", MemoryOf(plan), TimeOf(plan)));
}

std::string FleetFallbackWords(const v1::Plan& plan) {
  const v1::FleetCoverage& fleet = plan.fleet();
  if (!fleet.missing().empty()) {
    return fleet.device_count() == 0 ? " at published rates, not the fleet's"
                                     : " at the fleet's median, not these devices' rates";
  }
  if (!fleet.has_unread_seconds()) return "";
  return absl::StrFormat(" at the fleet's rates of %.0f s ago", fleet.unread_seconds());
}

std::string ChangeWords(const v1::FittingChange& change) {
  std::vector<std::string> settings;
  for (const v1::ChangedSetting& setting : change.settings()) {
    settings.push_back(SettingWords(setting));
  }
  return absl::StrJoin(settings, " and ");
}

std::string OpenChoicesWords(const v1::Plan& plan) {
  const double peak = plan.memory().peak_bytes().expected();
  std::vector<std::string> out;
  for (const v1::OpenChoice& choice : plan.open_choices()) {
    const bool widens =
        choice.spanned() && std::abs(choice.peak_bytes().expected() - peak) > kNotable * peak;
    if (!choice.decides_verdict() && !widens) continue;
    const v1::ChangedSetting& setting = choice.setting();
    out.push_back(absl::StrCat(PlanFieldWord(setting.field()), "=",
                               ValueText(setting.field(), setting.old_value()), " assumed; ",
                               ValueText(setting.field(), setting.new_value()), ": ",
                               text::IntervalText(choice.peak_bytes()),
                               choice.decides_verdict() ? ", another verdict" : ""));
  }
  return absl::StrJoin(out, "; ");
}

std::string CheapestChange(const v1::Plan& plan) {
  if (plan.verdict() == v1::VERDICT_FITS || plan.memory().changes().empty()) return "";
  const v1::FittingChange& first = plan.memory().changes(0);
  return OneLineOf(absl::StrCat(ChangeWords(first), ": ", Gib(first.peak_bytes().expected())));
}

}  // namespace sextant::words
