#include "server/launcher/deepspeed_shards.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/launcher/launcher.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

bool ReadsStageThree(Reading& reading) {
  return reading.layout().sharding().zero_stage() == v1::ZERO_STAGE_PARAMETERS;
}

}  // namespace

void ReadDeepspeedGroup(const Setting& setting, Reading& reading) {
  const int64_t group = reading.file.Count(setting.name, -1).value_or(-1);  // -1: none
  if (group > 0) reading.layout().mutable_sharding()->set_shard_group_size(group);
}

void WriteDeepspeedGroup(const Setting& setting, Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  const LaunchSizes& sizes = writing.sizes;
  if (!sharding.has_shard_group_size()) return;
  if (sharding.shard_group_size() == sizes.data * sizes.context) return;
  if (sizes.zero != v1::ZERO_STAGE_PARAMETERS) {
    return writing.refusals.Add("layout.sharding.shard_group_size", "it takes --zero=3");
  }
  writing.list.Add(setting.name, sharding.shard_group_size());
}

void ReadSecondaryGroup(const Setting& setting, Reading& reading) {
  const int64_t group = reading.file.Count(setting.name).value_or(1);
  if (group == 1 || !ReadsStageThree(reading)) return;
  reading.layout().mutable_sharding()->set_secondary_group_size(group);
}

void WriteSecondaryGroup(const Setting& setting, Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  if (!sharding.has_secondary_group_size()) return;
  // 1 is DeepSpeed's word for none.
  if (sharding.secondary_group_size() == 1) {
    return writing.refusals.Add("layout.sharding.secondary_group_size", "it takes 2 or more");
  }
  writing.list.Add(setting.name, sharding.secondary_group_size());
}

void ReadLiveElements(const Setting& setting, Reading& reading) {
  const auto elements = reading.file.Count(setting.name, 0);
  if (!elements.has_value() || !ReadsStageThree(reading)) return;
  v1::FrameworkMemory& out = *reading.layout().mutable_framework();
  out.set_live_elements(out.has_live_elements() ? std::min(out.live_elements(), *elements)
                                                : *elements);
}

void WriteLiveElements(const Setting& setting, Writing& writing) {
  const v1::FrameworkMemory& framework = writing.layout().framework();
  if (framework.has_live_elements()) writing.list.Add(setting.name, framework.live_elements());
}

void ReadSubgroups(const Setting& setting, Reading& reading) {
  constexpr int64_t kUsual = 1'000'000'000;
  const auto elements = reading.file.Count(setting.name, 0);
  if (!elements.has_value() || *elements == kUsual) return;
  reading.file.Ignore(setting.name);
  if (*elements > kUsual) return;
  reading.out.lowering.push_back({absl::StrCat(setting.name, " = ", *elements)});
}

}  // namespace sextant::server
