// The exchanges of context parallel ranks that trade parts of sequences for parts of heads.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_HEAD_EXCHANGE_TRACE_H_
#define SEXTANT_ENGINE_MODEL_TRACE_HEAD_EXCHANGE_TRACE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/model/flops/activation_flow.h"
#include "engine/model/trace/attention_core_trace.h"
#include "engine/model/trace/layer_trace.h"

namespace sextant {

// Query, key and value go to the ranks of their heads, of all tokens, and the output comes back.
// Each is an all-to-all among the context parallel ranks, with a copy into the order that is sent
// or read; gradients go the other ways. Adds nothing where ranks don't exchange heads.
// Source: Jacobs et al. 2023 (arXiv 2309.14509) section 3.1; docs/step_time.md, "Context
// parallelism".
class HeadExchange {
 public:
  explicit HeadExchange(const AttentionCoreTrace& core);

  // The operands of the core, which reads whole sequences of a part of the heads.
  uint8_t query() const { return query_; }
  uint8_t key() const { return key_; }
  uint8_t value() const { return value_; }
  uint8_t output() const { return output_; }

  // Operands to the core, and their gradients back. Call before the core is added.
  void AddInputs();
  // Operands to the core once more, in the backward pass.
  void AddInputsAgain();
  // The output of the core back, and its gradient to the core. Call after the core is added.
  void AddOutput();
  // In the backward pass: an output of the core, computed again, back; one that came back to the
  // core.
  void AddOutputBack(uint8_t whole, uint8_t own);
  void AddOutputForth(uint8_t own, uint8_t whole);

 private:
  bool Needs(ActivationSite site) const { return core_.parts.Needs(SiteIn(core_.cross, site)); }
  // `from` and `to`: tensors, or with `gradient` their gradients. `whole` is the exchanged one.
  struct Exchanged {
    absl::string_view name;
    uint8_t from = 0;
    uint8_t to = 0;
    uint8_t whole = 0;
    bool gradient = false;
  };
  void Add(TracePass pass, const Exchanged& exchanged);

  const AttentionCoreTrace& core_;
  TraceBuilder& out_;
  const bool exchanges_;
  uint8_t query_;
  uint8_t key_;
  uint8_t value_;
  uint8_t output_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_HEAD_EXCHANGE_TRACE_H_
