// A decoder of a family's names and options.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_READ_DECODER_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_READ_DECODER_H_

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/config/config_reader.h"
#include "engine/model/config/families.h"

namespace sextant {

// Reads the decoder of `family`, which has no read_model. What it returns counts only where the
// config has refused nothing. Refuses unread fields that name one of its sizes, but another value.
ArchitectureSpec ReadDecoder(const Family& family, ConfigReader& config);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_READ_DECODER_H_
