// A drawing in a terminal: dots, two by four a character cell, under letters.
#ifndef SEXTANT_CLIENT_BRAILLE_CANVAS_H_
#define SEXTANT_CLIENT_BRAILLE_CANVAS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

class BrailleCanvas {
 public:
  // Of `columns` x `rows` character cells, empty.
  BrailleCanvas(int columns, int rows);

  // In dots; the first of each is at the left and at the top.
  int dot_columns() const { return 2 * columns_; }
  int dot_rows() const { return 4 * rows_; }

  // Sets a dot. What is outside is left out.
  void Dot(int x, int y);

  // Sets the dots of a straight line between two dots, both included.
  void Line(int x0, int y0, int x1, int y1);

  // Puts `letter` into a cell, over its dots; where another letter stands already, into the
  // nearest free cell to the right of it, or else to the left.
  void Letter(int column, int row, char letter);

  // One text a row, of `columns` characters each.
  std::vector<std::string> Rows() const;

 private:
  size_t CellAt(int column, int row) const {
    return static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column);
  }

  int columns_;
  int rows_;
  std::vector<uint8_t> dots_;  // a bit each, as Unicode numbers them
  std::string letters_;        // ' ' for none
};

}  // namespace sextant

#endif  // SEXTANT_CLIENT_BRAILLE_CANVAS_H_
