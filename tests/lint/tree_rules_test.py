#!/usr/bin/python3
"""Rules of the tree: file lengths, header guards, line lengths, the model and flag tables of the
documents. Prints the median length, which the house wants at about 120 lines."""

import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = (".h", ".cc", ".cu", ".cuh", ".proto", ".py", ".sh")
MAX_LINES = 400
MAX_COLUMNS = 100
PROGRAMS = (("engine/", "server/"), ("engine/base/", "gpu_probe/"), ("client/",))
# Tables of data, each of which compiles alone (engine/CMakeLists.txt).
TABLES = r"/(catalogue_|families_|presets_)\w+\.cc$|/reference/"


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return listed.stdout.splitlines()
    return [os.path.relpath(os.path.join(folder, f), ROOT)
            for folder, _, files in os.walk(ROOT) for f in files
            if not re.search(r"/(build|\.git|node_modules)(/|$)", folder)]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def guard_of(path):
    return "SEXTANT_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper() + "_"


def problems_of(path, text):
    lines = text.split("\n")
    found = []
    if len(lines) - 1 > MAX_LINES:
        found.append(f"{path}: {len(lines) - 1} lines, more than {MAX_LINES}: split it by job")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and "http" not in line:
            found.append(f"{path}:{number}: {len(line)} columns")
        if line.rstrip() != line:
            found.append(f"{path}:{number}: blanks at the end of the line")
    if path.endswith(".h") and f"#ifndef {guard_of(path)}\n#define {guard_of(path)}" not in text:
        found.append(f"{path}: the header guard is not {guard_of(path)}")
    if not text.endswith("\n"):
        found.append(f"{path}: no line end at the end")
    return found


def types_of(text):
    """Names of the types that a header defines in our namespace itself, not inside another."""
    return re.findall(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{", text,
                      re.MULTILINE)


def twins(headers):
    """Types that two headers of one program define by one name: C++ would mix them up without a
    word, as they have no namespaces of their own."""
    found = []
    for folders in PROGRAMS:
        homes = {}
        for path, text in headers.items():
            if path.startswith(folders):
                for name in types_of(text):
                    homes.setdefault(name, []).append(path)
        found += [f"{name} is defined in {' and '.join(paths)}"
                  for name, paths in homes.items() if len(paths) > 1]
    return found


def unnamed_names(text):
    """Constants, types and functions at the left edge of a file's unnamed namespaces, functions
    with their parameters."""
    found = []
    unnamed = r"^namespace \{$(.*?)^\}  // namespace$"
    for body in re.findall(unnamed, text, re.MULTILINE | re.DOTALL):
        found += re.findall(r"^(?:constexpr|const) [^=({]*\b(k[A-Z]\w*)", body, re.MULTILINE)
        found += re.findall(r"^(?:struct|class|enum class) (\w+)[ :{]", body, re.MULTILINE)
        functions = r"^\w[\w:<>,&* ]*[ *&](\w+)\(([^;{]*)\) ?\{"
        for name, parameters in re.findall(functions, body, re.MULTILINE):
            types = re.sub(r"\s*\w+(?=,|$)", "", re.sub(r"\s+", " ", parameters))
            found.append(f"{name}({types})")
    return set(found)


def unlike_neighbours(texts):
    """Names that two files of a folder give to things of their own: unity builds see both."""
    homes = {}
    for path, text in texts.items():
        if path.endswith(".cc") and not re.search(TABLES, path):
            for name in unnamed_names(text):
                homes.setdefault((os.path.dirname(path), name), []).append(path)
    return [f"{name} stands in the unnamed namespaces of {' and '.join(paths)}"
            for (_, name), paths in homes.items() if len(paths) > 1]


def main():
    assert problems_of("a/b.h", "x" * 101 + "\n"), "the rules catch nothing"
    assert twins({"engine/a.h": "struct A {\n", "server/b.h": "class A : public B {\n"})
    alike = "namespace {\nconstexpr int kA = 1;\nint F(int x) {\n}\n}  // namespace\n"
    assert len(unlike_neighbours({"a/b.cc": alike, "a/c.cc": alike, "d/e.cc": alike})) == 2
    headers, sources = {}, {}
    problems, lengths = [], []
    for path in tracked_files():
        if path.endswith(SOURCE) and os.path.exists(os.path.join(ROOT, path)):
            text = read(path)
            problems += problems_of(path, text)
            if path.endswith(".h"):
                headers[path] = text
            if path.startswith(("engine/", "server/", "client/", "gpu_probe/")):
                sources[path] = text
            lengths.append(text.count("\n"))
    problems += twins(headers) + unlike_neighbours(sources)
    print("\n".join(problems) or
          f"{len(lengths)} files: median {statistics.median(lengths):.0f} lines, "
          f"longest {max(lengths)}")
    return 1 if problems or len(lengths) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
