// The memory of a graph's training step, to the wire.
#ifndef SEXTANT_SERVER_CONVERT_GRAPH_MEMORY_H_
#define SEXTANT_SERVER_CONVERT_GRAPH_MEMORY_H_

#include "engine/operation/graph_memory.h"
#include "sextant/v1/graph.pb.h"

namespace sextant {

void GraphMemoryTo(const GraphMemory& memory, v1::GraphMemory* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_GRAPH_MEMORY_H_
