// The bytes of gradients that live in each step of a layer's backward pass, by its trace.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_TRACE_TRACE_GRADIENTS_H_
#define SEXTANT_TESTS_ENGINE_MODEL_TRACE_TRACE_GRADIENTS_H_

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/memory/activations/activation_tensor.h"
#include "engine/model/trace/trace.h"

namespace sextant {

// Bytes of the steps at each BackwardPosition::index(), in their order.
using BytesByStep = std::map<size_t, std::vector<double>>;

// Follows each gradient of a layer's trace from the operation that writes it to the last one that
// reads it. Operations that the transients count as one step run together: the step has all that
// they read and write, and what is alive across it. Rules besides the operands:
//   residual       its gradient is alive in every step. A branch ends in a norm, then the sum: the
//                  norm's input has a gradient of its own. Where no operation writes a gradient,
//                  it is that of the sum that the tensor went into.
//   accumulation   a gradient that is alive is written as a second tensor, then added
//   collectives    what is gathered, and what is scattered, are tensors of their own
//   dW             a tensor of its own, where the product does not add to its buffer
//   fused core     in fp32 the sum of dQ and the rows of dO O, and the gradients of keys and values
//                  a query head: workspaces, which no trace lists
//   latents        the gradient of a key's rotary part waits for the norms of the others
// Not followed, as no transient counts them: routers, the gate of shared experts, rotary positions
// and the assembly of latent keys (in place here), exchanges between ranks, tokens of the encoder
// that cross attention gathers.
class TraceGradients {
 public:
  // `gradient_bytes`: an element's of a weight gradient; 0: none is a tensor of its own.
  TraceGradients(const Trace& trace, double compute_bytes, double gradient_bytes);

  const BytesByStep& bytes() const { return bytes_; }
  // Gradients that are read and that nothing writes.
  int unwritten() const { return unwritten_; }

 private:
  using Gradient = int;  // a tensor's index, or:
  static constexpr Gradient kResidual = -1;
  static constexpr Gradient kBranchStart = -2;  // the branch's part of the residual's
  static constexpr Gradient kEncoder = -3;
  using Gradients = std::set<Gradient>;

  // Sorts as the transients walk: branch, dense before shared experts, step, its parts in order.
  // Parts with the same `unit` are one step, of the larger one's size.
  struct Place {
    BackwardPosition at;
    int beside = 0;
    int unit = 0;
    int part = 0;
    std::array<int, 5> key() const {
      return {static_cast<int>(at.branch), beside, static_cast<int>(at.step), unit, part};
    }
  };
  // A gradient in a group.
  struct Access {
    bool read_first = false;
    bool written = false;
    bool written_last = false;
  };
  struct Group {
    Place place;
    std::vector<const TraceOp*> ops;
    std::map<Gradient, Access> accesses;
    bool only_adds = false;
  };

  void FindResidual();
  void FindProducts();
  void Sort();
  std::optional<Place> PlaceOf(size_t op);
  std::optional<Place> PlaceOfCollective(const TraceOp& op, BackwardPosition at) const;
  LayerBranch BranchOf(const TraceOp& op) const;
  LayerBranch BranchNear(size_t op, int step) const;
  void AddAccesses(const TraceOp& op, Group& group);
  Gradients ReadWhereMade(int tensor);
  Gradient Written(const TraceOperand& operand) const;
  void Walk();
  bool LivesAfter(size_t group, Gradient gradient) const;
  double BytesOf(Gradient gradient) const;
  double Beside(const Group& group) const;
  double WorkspaceOf(const TraceOp& op) const;

  const Trace& trace_;
  const double compute_bytes_;
  const double gradient_bytes_;
  std::set<int> residuals_;
  std::set<int> written_;
  std::set<int> adapter_tensors_;
  std::map<std::pair<absl::string_view, int>, BackwardStep> product_steps_;  // by their input
  double hidden_bytes_ = 0;
  double encoder_bytes_ = 0;
  double rotary_bytes_ = 0;
  bool has_experts_ = false;
  bool has_branch_start_ = false;
  std::map<std::array<int, 5>, Group> sorted_;
  std::vector<Group> groups_;
  BytesByStep bytes_;
  int unwritten_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_TRACE_TRACE_GRADIENTS_H_
