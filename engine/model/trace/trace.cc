#include "engine/model/trace/trace.h"

namespace sextant {

absl::string_view TracePassName(TracePass pass) {
  constexpr absl::string_view kNames[] = {"forward", "recompute", "input_gradient",
                                          "weight_gradient"};
  return kNames[static_cast<size_t>(pass)];
}

double KeptBytes(const Trace& trace) {
  std::vector<bool> recomputed(trace.tensors.size());
  std::vector<bool> read(trace.tensors.size());
  for (const TraceOp& op : trace.ops) {
    if (op.pass == TracePass::kForward) continue;
    for (const TraceOperand& operand : op.reads) {
      if (!operand.gradient) read[operand.tensor] = true;
    }
    if (op.pass != TracePass::kRecompute) continue;
    for (const TraceOperand& operand : op.writes) recomputed[operand.tensor] = true;
  }
  double bytes = 0;
  for (size_t i = 0; i < trace.tensors.size(); ++i) {
    const TraceTensor& tensor = trace.tensors[i];
    if (read[i] && !recomputed[i] && !tensor.kept_elsewhere) bytes += tensor.bytes();
  }
  return bytes;
}

double ModelFlopsOf(const Trace& trace, TracePass pass) {
  double flops = 0;
  for (const TraceOp& op : trace.ops) {
    if (op.pass == pass) flops += op.model_flops;
  }
  return flops;
}

}  // namespace sextant
