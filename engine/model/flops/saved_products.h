// Recomputation by operator: it saves every second matrix product of a layer, the output of fused
// attention, and what ranks scatter or exchange, and computes all else again.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_SAVED_PRODUCTS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_SAVED_PRODUCTS_H_

#include <array>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// The first, third, fifth and so on of a layer's products, in the order of its forward pass. One
// with a bias is another operator, neither counted nor saved; nor is a router's, which is always
// computed again, or that of routed experts.
// Source: pytorch/torchtitan @v0.2.2, torchtitan/distributed/activation_checkpoint.py,
// _apply_op_sac(); the order in torchtitan/models/{llama3,deepseek_v3,moe}.
class SavedProducts {
 public:
  explicit SavedProducts(const LayerSpec& layer);

  // `module` and `name` as in WeightTensor.
  bool Has(absl::string_view module, absl::string_view name) const;

 private:
  struct Product {
    absl::string_view module;
    absl::string_view name;
  };

  void AddAttention(const AttentionSpec& attention);
  void AddFeedForward(absl::string_view module, const FeedForwardSpec& feed_forward);
  void Count(const Product& product, bool has_bias);

  std::array<Product, 8> saved_ = {};
  size_t saved_count_ = 0;
  bool saves_next_ = true;
};

// The part of `spec` whose operators are not known, in words: "adapters". Empty: all are known.
absl::string_view PartOfUnknownOperators(const ArchitectureSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_SAVED_PRODUCTS_H_
