// What becomes of the fields of a config.json that its family does not read.
#ifndef SEXTANT_SERVER_HUGGING_FACE_UNREAD_FIELDS_H_
#define SEXTANT_SERVER_HUGGING_FACE_UNREAD_FIELDS_H_

#include <string>
#include <vector>

#include "engine/model/transformer_spec.h"
#include "server/hugging_face/config_reader.h"

namespace sextant {

// Refuses unread fields that say that the model has parameters beyond its family's: experts,
// adapters, an encoder, biases and norms that the family has no option for. A value that says
// that there are none (false, 0, empty) is fine.
void RefuseCountedFields(ConfigReader& config);

// Refuses unread fields that name one of `shape`'s sizes, but another value. Call it once
// `shape` has passed CheckTransformer().
void RefuseContradictions(ConfigReader& config, const TransformerSpec& shape);

// The names of all unread fields but nulls, in alphabetical order.
std::vector<std::string> IgnoredFields(const ConfigReader& config);

}  // namespace sextant

#endif  // SEXTANT_SERVER_HUGGING_FACE_UNREAD_FIELDS_H_
