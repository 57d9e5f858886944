#include "engine/hardware/reference/reference_kernels.h"

#include <deque>

#include "engine/base/lazy.h"
#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

// Models of published tables, each made at its first use.
template <typename Reference, typename Fit, typename Model>
class KeptModels {
 public:
  // `fits` has one for each reference, in their order.
  template <typename References>
  KeptModels(const References& all, absl::Span<const Fit> fits) {
    for (const absl::Span<const Reference> of_device : all) {
      for (const Reference& reference : of_device) {
        const Fit& fit = fits[kept_.size()];
        Kept& each = kept_.emplace_back();
        each.reference = &reference;
        each.fit = &fit;
      }
    }
  }

  // Null: `reference` is none of them.
  template <typename Make>
  const Model* Find(const Reference& reference, Make make) const {
    for (const Kept& each : kept_) {
      if (each.reference != &reference) continue;
      return &each.model.Get([&] { return make(reference, *each.fit); });
    }
    return nullptr;
  }

 private:
  struct Kept {
    const Reference* reference;
    const Fit* fit;
    Lazy<Model> model;
  };

  std::deque<Kept> kept_;  // lazy values can't move
};

}  // namespace

std::array<absl::Span<const AttentionReference>, 4> AttentionReferences() {
  return {AttentionReferencesOfA100(), AttentionReferencesOfB200(), AttentionReferencesOfH100(),
          AttentionReferencesOfH200()};
}

const AttentionReference* FindAttentionReference(absl::string_view device, DataType data_type,
                                                 bool latent) {
  for (const absl::Span<const AttentionReference> references : AttentionReferences()) {
    for (const AttentionReference& reference : references) {
      if (reference.device == device && reference.data_type == data_type &&
          reference.latent == latent) {
        return &reference;
      }
    }
  }
  return nullptr;
}

std::vector<AttentionPoint> PointsOf(const AttentionReference& reference) {
  std::vector<AttentionPoint> out;
  for (const AttentionReferenceClass& like : reference.classes) {
    for (const AttentionReferenceRow& row : like.rows) {
      out.push_back({.shape = {.batch = row.batch,
                               .sequence = row.sequence,
                               .heads = row.heads,
                               .key_value_heads = row.key_value_heads,
                               .query_key_head_size = like.query_key_head_size,
                               .value_head_size = like.value_head_size,
                               .causal = like.causal,
                               .window = like.window},
                     .time = Seconds(row.microseconds * 1e-6)});
    }
  }
  return out;
}

std::array<absl::Span<const GroupedMatmulReference>, 4> GroupedMatmulReferences() {
  return {GroupedMatmulReferencesOfA100(), GroupedMatmulReferencesOfB200(),
          GroupedMatmulReferencesOfH100(), GroupedMatmulReferencesOfH200()};
}

const GroupedMatmulReference* FindGroupedMatmulReference(const GroupedMatmulKernel& kernel) {
  for (const absl::Span<const GroupedMatmulReference> references : GroupedMatmulReferences()) {
    for (const GroupedMatmulReference& reference : references) {
      if (reference.device == kernel.device && reference.data_type == kernel.data_type &&
          reference.block_scaled == kernel.block_scaled && reference.gated == kernel.gated) {
        return &reference;
      }
    }
  }
  return nullptr;
}

std::vector<GroupedMatmulPoint> PointsOf(const GroupedMatmulReference& reference) {
  std::vector<GroupedMatmulPoint> out;
  for (const GroupedMatmulReferenceRow& row : reference.rows) {
    out.push_back({.shape = {.tokens = row.tokens,
                             .hidden = row.hidden,
                             .intermediate = row.intermediate,
                             .experts_per_token = row.experts_per_token,
                             .experts = row.experts,
                             .expert_parallel = row.expert_parallel,
                             .gated = reference.gated},
                   .time = Seconds(row.microseconds * 1e-6)});
  }
  return out;
}

AttentionCalibration CalibrationOf(const AttentionReference& reference,
                                   absl::Span<const AttentionPoint> points) {
  AttentionCalibration out = {.points = points};
  const Accelerator* accelerator = AcceleratorNamed(reference.device);
  if (accelerator != nullptr && accelerator->compute_unit_count) {
    out.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value);
  }
  return out;
}

const AttentionModel* ReferenceModel(const AttentionReference& reference) {
  static const auto* const kept =
      new KeptModels<AttentionReference, AttentionReferenceFit, AttentionModel>(
          AttentionReferences(), AttentionReferenceFits());
  const auto make = [](const AttentionReference& of, const AttentionReferenceFit& fit) {
    const std::vector<AttentionPoint> points = PointsOf(of);
    return AttentionModel::Of(CalibrationOf(of, points), fit.classes, fit.error);
  };
  return kept->Find(reference, make);
}

const GroupedMatmulModel* ReferenceModel(const GroupedMatmulReference& reference) {
  static const auto* const kept =
      new KeptModels<GroupedMatmulReference, GroupedMatmulModelFit, GroupedMatmulModel>(
          GroupedMatmulReferences(), GroupedMatmulReferenceFits());
  const auto make = [](const GroupedMatmulReference& of, const GroupedMatmulModelFit& fit) {
    return GroupedMatmulModel::Of({.points = PointsOf(of)}, fit);
  };
  return kept->Find(reference, make);
}

}  // namespace sextant
