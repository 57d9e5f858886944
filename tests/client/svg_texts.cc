#include "tests/client/svg_texts.h"

#include <gtest/gtest.h>

#include <regex>
#include <utility>

#include "client/chart/svg.h"

namespace sextant::client {
namespace {

std::string Unescaped(std::string text) {
  for (const auto& [escaped, plain] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
    for (size_t at = 0; (at = text.find(escaped)) != std::string::npos;) {
      text.replace(at, std::string(escaped).size(), plain);
    }
  }
  return text;
}

}  // namespace

std::vector<SvgText> TextsOf(const std::string& svg) {
  const std::regex element(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" font-size=\"([0-9]+)\" "
      "text-anchor=\"([a-z]+)\"[^>]*?(?: transform=\"rotate\\(([-0-9.]+)[^>]*)?>([^<]*)</text>");
  std::vector<SvgText> texts;
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), element); i != std::sregex_iterator();
       ++i) {
    SvgText text;
    text.at = {std::stod((*i)[1]), std::stod((*i)[2])};
    text.size = std::stod((*i)[3]);
    text.anchor = (*i)[4] == "start"    ? SvgAnchor::kStart
                  : (*i)[4] == "middle" ? SvgAnchor::kMiddle
                                        : SvgAnchor::kEnd;
    text.degrees = (*i)[5].matched ? std::stod((*i)[5]) : 0;
    text.text = Unescaped((*i)[6]);
    texts.push_back(text);
  }
  return texts;
}

void ExpectLegible(const std::string& svg, const std::string& what, double width) {
  const std::vector<SvgText> texts = TextsOf(svg);
  ASSERT_GT(texts.size(), 8u) << what;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Box box = BoxOf(texts[i]);
    EXPECT_GE(box.left, 0) << what << ": " << texts[i].text;
    EXPECT_LE(box.right, width) << what << ": " << texts[i].text;
    EXPECT_GE(texts[i].size, 11) << what << ": " << texts[i].text;
    for (size_t j = i + 1; j < texts.size(); ++j) {
      EXPECT_FALSE(box.Overlaps(BoxOf(texts[j])))
          << what << ": \"" << texts[i].text << "\" and \"" << texts[j].text << "\"";
    }
  }
}

}  // namespace sextant::client
