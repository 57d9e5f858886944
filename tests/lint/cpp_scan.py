"""Scans C++ by tokens: the functions of a file, and the names that it declares and uses.

Knows as much of the language as the tree's style needs: scopes by braces, no types, no macros.
"""

import functools
import re

# A comment, a string, a preprocessor line, a name, or any other character.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
                   r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|[A-Za-z_]\w*|\d[\w.']*|::|->|\S",
                   re.DOTALL | re.MULTILINE)
NOT_A_TYPE = {"return", "else", "case", "new", "delete", "throw", "goto", "using", "typename",
              "template", "operator", "co_return", "not", "and", "or", "in"}
NOT_A_NAME = {"if", "for", "while", "switch", "sizeof", "alignof", "decltype", "noexcept",
              "alignas", "static_assert", "catch", "requires", "defined", "__attribute__", "void",
              "explicit"}


def tokens_of(text):
    """(token, line) without comments and includes. Strings of one name keep their quotes; other
    strings are left out."""
    found, line, at = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        token = match.group()
        if token.startswith('"') and re.fullmatch(r'"[A-Za-z_]\w*"', token):
            found.append((token, line))
        elif token.startswith(("//", "/*", '"', "'", 'R"')):
            continue
        elif token.lstrip().startswith("#"):
            if re.match(r"\s*#\s*define", token):
                found += [(name, line) for name in re.findall(r"[A-Za-z_]\w*", token)]
        else:
            found.append((token, line))
    return found


class Scan:
    """The result for one file.

    declared, used   names, with one entry an occurrence
    overrides        names of functions that say `override`, or are in extern "C"
    functions        (first line, last line), signature and braces included
    """

    def __init__(self, text):
        self.declared, self.used, self.overrides, self.functions = [], [], [], []
        tokens = tokens_of(text)
        self._tokens = [token for token, _ in tokens]
        outside = []     # of each open brace: the state outside, and the body's first line
        scope = "names"  # "names" in a namespace or class, "enum", "body" in a function or value
        head = []        # tokens of the present declaration, with their lines
        depth = 0        # of parentheses
        for index, (token, line) in enumerate(tokens):
            if token == "{":
                inner = scope_of([t for t, _ in head], scope, depth)
                is_function = scope == "names" and inner == "body" and is_signature(head)
                outside.append((scope, head, depth, first_line(head) if is_function else None))
                scope, head, depth = inner, [], 0
                continue
            if token == "}" and outside:
                scope, head, depth, first = outside.pop()
                # Of a constructor's initializers, `member_{value}, other_{value} {`.
                goes_on = depth > 0 or self._after(index) in (",", "{")
                if first is not None and not goes_on:
                    self.functions.append((first, line))
                head = head if goes_on else []
                continue
            if token == ";" and depth == 0:
                head = []
                continue
            depth += (token == "(") - (token == ")")
            if token.startswith('"'):
                self.used.append(token[1:-1])
            elif re.match(r"[A-Za-z_]", token):
                self._add(index, token, [t for t, _ in head] if scope != "body" else head, scope,
                          depth)
            head.append((token, line))

    def _after(self, index):
        return self._tokens[index + 1] if index + 1 < len(self._tokens) else ""

    def _add(self, index, token, head, scope, depth):
        after = self._after(index)
        if scope == "body" or not declares(head, token, after, scope, depth):
            self.used.append(token)
        elif after == "(" and self._is_override(index + 1):
            self.overrides.append(token)
        else:
            self.declared.append(token)

    def _is_override(self, index):
        """True if the function whose parameters open at `index` says `override`."""
        level = 0
        while index < len(self._tokens):
            level += (self._tokens[index] == "(") - (self._tokens[index] == ")")
            index += 1
            if level == 0:
                break
        while index < len(self._tokens) and self._tokens[index] not in (";", "{"):
            if self._tokens[index] in ("override", "final"):
                return True
            index += 1
        return False


@functools.lru_cache(maxsize=None)
def scan(text):
    """The Scan of a file, computed once."""
    return Scan(text)


def first_line(head):
    """The line on which a declaration begins, after access specifiers."""
    start = 0
    for index, (token, _) in enumerate(head):
        if token in ("public", "private", "protected"):
            start = index + 2
    return head[min(start, len(head) - 1)][1]


def is_signature(head):
    """True if a brace after `head` opens a function, not a value."""
    level = 0
    for token, _ in head:
        level += (token == "(") - (token == ")")
        if token == "=" and level == 0 and not any(t == "operator" for t, _ in head):
            return False
    return any(token == "(" for token, _ in head)


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
        if head[index] != "template":
            out.append(head[index])
            index += 1
            continue
        level, index = 0, index + 1
        while index < len(head):
            level += (head[index] == "<") - (head[index] == ">")
            index += 1
            if level == 0:
                break
    return out


def declares(head, token, after, scope, depth):
    """True if `token` is the name that a declaration at namespace or class scope declares."""
    before = head[-1] if head else ""
    if scope == "enum" or depth > 0 or token in NOT_A_NAME or "extern" in head or \
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
