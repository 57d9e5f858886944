// What stands behind a file descriptor.
#ifndef SEXTANT_CLIENT_TERMINAL_H_
#define SEXTANT_CLIENT_TERMINAL_H_

namespace sextant {

// Columns of the terminal behind `file_descriptor`; 0 where it is none.
int TerminalColumns(int file_descriptor);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_TERMINAL_H_
