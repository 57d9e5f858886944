#ifndef SEXTANT_PROTO_OPENAPI_OPENAPI_H_
#define SEXTANT_PROTO_OPENAPI_OPENAPI_H_

#include "absl/strings/string_view.h"

namespace sextant {

// The OpenAPI 3.1 document of the API (openapi_generator.cc), as a gzip file.
absl::string_view OpenApiGzip();

}  // namespace sextant

#endif  // SEXTANT_PROTO_OPENAPI_OPENAPI_H_
