#!/usr/bin/python3
"""Lists functions, types and constants that no program uses, and those that only tests use.

  tests/lint/dead_names.py

A name is used if it occurs, in a file that includes its header, anywhere other than in declarations
and definitions, or if a string there is equal to it. Not counted: kernels, which are launched by name. Scopes are not resolved: things of one header
that share a name are dead only if all of them are. Overrides and extern "C" functions count as used, since
libraries call them.
"""

import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from structure import CODE, HOUSES, INCLUDE, ROOT, git  # noqa: E402

FOUND_BY_NAME = {"main", "operator", "AbslStringify", "AbslHashValue", "PrintTo", "__asan_default_options",
                 "LLVMFuzzerTestOneInput", "LLVMFuzzerCustomMutator", "LLVMFuzzerMutate"}
# A comment, a string, a preprocessor line, a name, or any other character.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
                   r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|[A-Za-z_]\w*|::|->|\S", re.DOTALL | re.MULTILINE)
NOT_A_TYPE = {"return", "else", "case", "new", "delete", "throw", "goto", "using", "typename",
              "template", "operator", "co_return", "not", "and", "or", "in"}
KEYWORDS = {"if", "for", "while", "switch", "sizeof", "alignof", "decltype", "noexcept", "alignas",
            "static_assert", "catch", "requires", "defined", "__attribute__", "void", "explicit"}


def tokens_of(text):
    """Names and characters of a source, without comments, includes and strings of several words."""
    found = []
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.startswith('"') and re.fullmatch(r'"[A-Za-z_]\w*"', token):
            found.append(token)
        if token.startswith(("//", "/*", '"', "'", 'R"')):
            continue
        if token.lstrip().startswith("#"):
            found += re.findall(r"[A-Za-z_]\w*", token) if "define" in token else []
            continue
        found.append(token)
    return found


def occurrences(tokens):
    """Three lists with one entry an occurrence: names declared here, names used here, and names of
    overrides declared here."""
    declared, used, overrides = [], [], []
    braces = []   # of each open brace: the state outside
    scope = "names"  # "names" in a namespace or class, "enum", "body" in a function or value
    head = []        # tokens of the present declaration
    depth = 0        # of parentheses
    for index, token in enumerate(tokens):
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token == "{":
            braces.append((scope, head, depth))
            scope, head, depth = scope_of(head, scope, depth), [], 0
            continue
        if token == "}" and braces:
            scope, head, depth = braces.pop()
            head = head if depth > 0 else []
            continue
        if token == ";" and depth == 0:
            head = []
            continue
        depth += (token == "(") - (token == ")")
        if token.startswith('"'):
            used.append(token[1:-1])
        elif re.match(r"[A-Za-z_]", token):
            if scope != "body" and declares(head, token, after, scope, depth):
                is_method = after == "(" and is_override(tokens, index + 1)
                (overrides if is_method else declared).append(token)
            else:
                used.append(token)
        head.append(token)
    return declared, used, overrides


def scope_of(head, outer, depth):
    """The scope of a brace that opens after `head`."""
    if outer == "body" or depth > 0:
        return "body"
    if "enum" in head:
        return "enum"
    if "extern" in head and "(" not in head:
        return "body"  # extern "C" {
    if "namespace" in head:
        return "names"
    plain = without_templates(head)
    if any(word in plain for word in ("struct", "class", "union")) and "(" not in plain and \
            "=" not in plain:
        return "names"
    return "body"


def without_templates(head):
    """`head` without `template <...>`."""
    out, index = [], 0
    while index < len(head):
        if head[index] == "template":
            index += 1
            level = 0
            while index < len(head):
                level += (head[index] == "<") - (head[index] == ">")
                index += 1
                if level == 0:
                    break
            continue
        out.append(head[index])
        index += 1
    return out


def declares(head, token, after, scope, depth):
    """Whether `token` is the name that a declaration at namespace or class scope declares."""
    before = head[-1] if head else ""
    if scope == "enum" or depth > 0 or token in KEYWORDS or "extern" in head or \
            "maybe_unused" in head:
        return False
    if before in ("struct", "class", "union"):
        return after in ("{", ";", ":", "final")
    if before == "using":
        return after == "="
    if "=" in head and "operator" not in head:
        return False
    if after == "(":
        if "(" in head or before == "~" or head.count("<") > head.count(">"):
            return False
        return bool(re.match(r"[\w>&*]", before)) and before not in NOT_A_TYPE or before == "::"
    if re.match(r"k[A-Z]", token) and after in ("=", "{", "[", ";"):
        return bool(re.match(r"[\w>&*]", before))
    return False


def is_override(tokens, index):
    """Whether a function whose parameters open at `index` says `override`."""
    level = 0
    while index < len(tokens):
        level += (tokens[index] == "(") - (tokens[index] == ")")
        index += 1
        if level == 0:
            break
    while index < len(tokens) and tokens[index] not in (";", "{"):
        if tokens[index] in ("override", "final"):
            return True
        index += 1
    return False


def texts_of_tree():
    paths = [p for p in git("ls-files", "-co", "--exclude-standard").splitlines()
             if p.endswith(CODE) and os.path.exists(os.path.join(ROOT, p))]
    texts = {}
    for path in paths:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            texts[path] = file.read()
    return texts


def includes_of(texts):
    """For each file, all files of the tree that it includes, also through others, and itself."""
    direct = {path: [t for t in INCLUDE.findall(text) if t in texts] for path, text in texts.items()}
    closure = {}
    for path in texts:
        seen, left = {path}, [path]
        while left:
            for target in direct[left.pop()]:
                if target not in seen:
                    seen.add(target)
                    left.append(target)
        closure[path] = seen
    return closure


def dead_names(texts):
    """Two sorted lists of (file, name): names that nothing uses, and names of programs that only
    tests use. A file uses a name of the headers that it includes and its own."""
    homes, users = set(), collections.defaultdict(set)
    called_by_libraries = set(FOUND_BY_NAME)
    for path, text in texts.items():
        declared, used, overrides = occurrences(tokens_of(text))
        called_by_libraries.update(overrides)
        homes.update((path, name) for name in declared)
        for name in used:
            users[name].add(path)
    in_headers = {name for path, name in homes if path.endswith(".h")}
    closure = includes_of(texts)
    unused, only_tests = [], []
    for path, name in sorted(homes):
        if path.endswith(".cu") or (path.endswith(".cc") and name in in_headers) or \
                name in called_by_libraries:
            continue
        found = [user for user in users[name] if path in closure[user] or user.endswith(".cu") or
                 (path.endswith(".cc") and user.endswith(".h"))]
        if not found:
            unused.append((path, name))
        elif path.startswith(HOUSES) and not any(user.startswith(HOUSES) for user in found):
            only_tests.append((path, name))
    return unused, only_tests


def main():
    unused, only_tests = dead_names(texts_of_tree())
    for title, names in (("used by nothing", unused), ("used only by tests", only_tests)):
        for path, name in names:
            print(f"{path}: {name}: {title}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
