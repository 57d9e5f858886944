// Imports the names of the functions that read a request's fields from text, which the server uses
// too.
#ifndef SEXTANT_CLIENT_FLAGS_WORDS_H_
#define SEXTANT_CLIENT_FLAGS_WORDS_H_

#include "proto/words/adapters.h"
#include "proto/words/field_path.h"
#include "proto/words/number.h"

namespace sextant::client {

// Fields.
using words::AddDefaultTargets;
using words::FieldForm;
using words::FindField;
using words::FormOf;
using words::IsFile;
using words::SetField;
using words::ValueName;

// Numbers and shapes.
using words::ElementCount;
using words::kScalarShape;
using words::ParseByteCount;
using words::ParseCount;
using words::ParseLength;
using words::ParseNanoseconds;
using words::ParseNumber;
using words::ParseSeconds;
using words::ParseShape;
using words::ParseSizes;

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_WORDS_H_
