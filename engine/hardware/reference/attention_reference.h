// Published times of attention, a calibration for each of a few devices.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_ATTENTION_REFERENCE_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_ATTENTION_REFERENCE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/attention_model.h"
#include "engine/tensor/data_type.h"

namespace sextant {

struct AttentionReferenceRow {
  int32_t batch;
  int32_t sequence;
  int32_t heads;
  int32_t key_value_heads;
  double microseconds;
};

// Rows of one head size, mask and window.
struct AttentionReferenceClass {
  int32_t query_key_head_size;
  int32_t value_head_size;
  bool causal;
  int32_t window;
  absl::Span<const AttentionReferenceRow> rows;
};

struct AttentionReference {
  absl::string_view device;  // the catalogue's name
  DataType data_type = DataType::kUnspecified;
  bool latent = false;       // multi-head latent attention, not absorbed
  absl::string_view kernel;  // "sglang 0.5.14 fa3"
  absl::Span<const AttentionReferenceClass> classes;
};

// Made by make_attention_reference.py; docs/kernels_attention.md says why these kernels.
absl::Span<const AttentionReference> AttentionReferencesOfA100();
absl::Span<const AttentionReference> AttentionReferencesOfB200();
absl::Span<const AttentionReference> AttentionReferencesOfH100();
absl::Span<const AttentionReference> AttentionReferencesOfH200();

// All of them, a span a device.
std::array<absl::Span<const AttentionReference>, 4> AttentionReferences();

// Of a device by its catalogue name; null: none.
const AttentionReference* FindAttentionReference(absl::string_view device, DataType data_type,
                                                 bool latent);

std::vector<AttentionPoint> PointsOf(const AttentionReference& reference);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_ATTENTION_REFERENCE_H_
