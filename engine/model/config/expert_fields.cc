#include "engine/model/config/expert_fields.h"

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/size_limits.h"

namespace sextant {

void ReadExperts(ConfigReader& config, const ExpertNames& names, int64_t size,
                 DecoderDraft& draft) {
  ExpertsSpec experts;
  experts.expert_count = config.RequiredSize(names.expert_count, kMaxExpertCount);
  experts.experts_per_token = config.RequiredSize(names.experts_per_token, kMaxExpertCount);
  experts.expert = {.kind = FeedForwardKind::kGated, .size = size};
  if (experts.expert_count > 0 && experts.experts_per_token > experts.expert_count) {
    config.Refuse(names.experts_per_token,
                  absl::StrCat("must be at most ", names.expert_count, " (", experts.expert_count,
                               "), not ", experts.experts_per_token));
  }
  draft.experts = experts;
}

}  // namespace sextant
