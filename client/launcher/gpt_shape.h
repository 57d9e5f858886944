// The shapes that Megatron-LM's GPT model has.
#ifndef SEXTANT_CLIENT_LAUNCHER_GPT_SHAPE_H_
#define SEXTANT_CLIENT_LAUNCHER_GPT_SHAPE_H_

#include <string>
#include <vector>

#include "sextant/v1/architecture.pb.h"

namespace sextant::client {

// The layers of a GPT model: those with a feed-forward, and those with experts.
struct GptShape {
  const v1::LayerKind* dense = nullptr;
  const v1::LayerKind* experts = nullptr;
  std::vector<bool> layers = {};  // true: of experts
  // By Megatron-LM's two switches.
  bool linear_bias = false;           // on all matrices
  bool query_key_value_bias = false;  // on those alone

  const v1::LayerKind& any() const { return dense != nullptr ? *dense : *experts; }
};

// Fills in the shape of `model`, which it points into. Returns what no argument gives: "windows or
// chunks of attention"; "" for a GPT model.
std::string FindGptShape(const v1::Architecture& model, GptShape* shape);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_GPT_SHAPE_H_
