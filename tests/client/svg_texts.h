// The texts of an SVG document, and whether they can be read.
#ifndef SEXTANT_TESTS_CLIENT_SVG_TEXTS_H_
#define SEXTANT_TESTS_CLIENT_SVG_TEXTS_H_

#include <string>
#include <vector>

#include "client/chart/svg.h"

namespace sextant::client {

// All texts of a document, as they were placed.
std::vector<SvgText> TextsOf(const std::string& svg);

// Expects them to be large enough, within a drawing of this width, and clear of one another.
void ExpectLegible(const std::string& svg, const std::string& what, double width);

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SVG_TEXTS_H_
