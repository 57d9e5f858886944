// The catalogue's Accelerator as a message.
#ifndef SEXTANT_SERVER_CONVERT_ACCELERATOR_H_
#define SEXTANT_SERVER_CONVERT_ACCELERATOR_H_

#include "engine/hardware/accelerator.h"
#include "sextant/v1/accelerator.pb.h"

namespace sextant::server {

// Fills `out`, which is empty, in place.
void AcceleratorTo(const Accelerator& accelerator, v1::Accelerator* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ACCELERATOR_H_
