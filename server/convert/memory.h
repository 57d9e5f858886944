// A plan's memory as a message.
#ifndef SEXTANT_SERVER_CONVERT_MEMORY_H_
#define SEXTANT_SERVER_CONVERT_MEMORY_H_

#include "engine/run/plan.h"
#include "server/convert/notes.h"
#include "sextant/v1/memory.pb.h"

namespace sextant::server {

// Fills `out`, which is empty, without the fields of a full view. The plan's texts move into it.
void MemoryTo(Plan& plan, bool full, SourceNumbers& sources, v1::Memory* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_MEMORY_H_
