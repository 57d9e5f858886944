#!/usr/bin/python3
"""What code and documents cite exists.

- a page: docs/NAME.md in any file, and links between documents, anchors included;
- a heading: docs/NAME.md, "Heading" in any file, [..](NAME.md), "Heading" in a document;
- a code name in a document: `--flag`, `path/in/the/tree`, `CamelCase` and `snake_case`.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Pages of other projects, cited with their project's name.
OTHER_PAGES = {"docs/background.md", "docs/_pages/config-json.md",
               "docs/b200/b200_real_repro_guide.md", "docs/custom_plugin_monitor.md"}
# Names in documents that are of other projects and tools, by whose they are.
OTHER_NAMES = set("""
docker build-arg ipc
Megatron-LM overlap-cpu-optimizer-d2h-h2d language_module t5_model bert_lm_head
language_model_embedding relative_pos_embedding multi_latent_attention theoretical_memory_usage
DeepSpeed estimate_zero2_model_states_mem_needs estimate_zero3_model_states_mem_needs cpu_offload
stage3_param_persistence_threshold
torchtitan maybe_enable_amp
PyTorch backward_maybe_with_nosync post_backward
PEFT tp_layer
SimuMax sp_stream
transformers trainer_callback training_args
monitoring-plugins utils_base
Prometheus external_labels max_global_series_per_user
Linux CapEff set_mempolicy
CMake compile_commands
SkyPilot admin_policy admin_policy_utils
""".split())


PAGE = re.compile(r"(?<![\w/.])docs/[\w/-]+\.md\b")
LINK = re.compile(r"\]\((?P<page>[^()#\s:]*)(?:#(?P<anchor>[\w-]+))?\)")
HEADING = re.compile(r'(?:(?<![\w/.])(?P<page>docs/[\w/-]+\.md)|\]\((?P<link>[\w/.-]+\.md)\)), '
                     r'\\?"(?P<heading>[^"\\]+)\\?"')
# The end of a line within a comment or between two string literals.
CONTINUATION = re.compile(r'"\n\s*"|\n\s*(?://+|#)? ?')
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FLAG = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)")
DASHED = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+")
CAMEL = re.compile(r"\*?\b[A-Z][a-z0-9]+[A-Z]\w*\*?")
SNAKE = re.compile(r"(?<![\w.-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b(?![\w*-])")
FOLDERS = ("engine", "server", "client", "gpu_probe", "proto", "tests", "deploy", "docs", "cmake")
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}|_[A-Z]{4,}")
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./-]*\w")


def tracked():
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, text=True,
                         capture_output=True).stdout
    return [name for name in out.split("\0") if name]


def texts(names):
    """The text files by name."""
    found = {}
    for name in names:
        try:
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                found[name] = file.read()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
    return found


def headings_of(text):
    return {line.lstrip("#").replace("`", "").strip() for line in FENCE.sub("", text).split("\n")
            if re.match(r"#+ ", line)}


def anchor_of(heading):
    """GitHub's anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


class Tree:
    """The tracked files and folders, headings of documents, and names in all other files."""

    def __init__(self, names, files):
        self.paths = set(names) | {name[:i] for name in names
                                   for i, c in enumerate(name) if c == "/"}
        self.headings = {name: headings_of(text) for name, text in files.items()
                         if name.endswith(".md")}
        self.words = {os.path.basename(name).split(".")[0] for name in names}
        self.dashed = set()
        for name, text in files.items():
            if name.endswith(".md"):
                continue
            self.words.update(WORD.findall(text))
            self.dashed.update(word.replace("-", "_") for word in DASHED.findall(text))
        # Enum values are printed without their enum's name: other_pass.
        self.values = {word[i + 1:].lower() for word in self.words if word.isupper()
                       for i, c in enumerate(word) if c == "_"}

    def has_path(self, path):
        """Also without its ending, or as the start of several (`families_*.cc`)."""
        start = path if path.endswith("_") else path + "."
        return path in self.paths or any(known.startswith(start) for known in self.paths)

    def has_name(self, name):
        """Also part of a name, of a test's filter: `*CountedByHand*`."""
        part = name.strip("*")
        if part != name:
            return any(part in word for word in self.words)
        return name in self.words or name in self.values or name in OTHER_NAMES

    def has_flag(self, flag):
        plain = flag.replace("-", "_")
        return plain in self.words or plain in self.dashed or flag in OTHER_NAMES


def wrong_pages(name, text, tree):
    for page in set(PAGE.findall(text)) - OTHER_PAGES:
        if page not in tree.headings:
            yield f"{name}: there is no {page}"


def wrong_headings(name, text, tree):
    for found in HEADING.finditer(CONTINUATION.sub(" ", text)):
        page = found["page"] or os.path.normpath(
            os.path.join(os.path.dirname(name), found["link"]))
        if page in tree.headings and found["heading"] not in tree.headings[page]:
            yield f'{name}: {page} has no heading "{found["heading"]}"'


def wrong_links(name, text, tree):
    for found in LINK.finditer(FENCE.sub("", text)):
        page = name if not found["page"] else os.path.normpath(
            os.path.join(os.path.dirname(name), found["page"]))
        if page not in tree.paths:
            yield f"{name}: links to {page}, which is absent"
        elif found["anchor"] and found["anchor"] not in map(anchor_of, tree.headings[page]):
            yield f"{name}: {page} has no heading for #{found['anchor']}"


def wrong_code_names(name, text, tree):
    spans = CODE.findall(FENCE.sub("", text))
    for span in spans:
        rest = span
        for path in PATH.findall(span):
            rest = rest.replace(path, "")
            if not (PLACEHOLDER.search(path) or tree.has_path(path) or path in OTHER_PAGES):
                yield f"{name}: there is no {path}"
        for flag in FLAG.findall(rest):
            if not tree.has_flag(flag):
                yield f"{name}: nothing has the flag --{flag}"
        rest = FLAG.sub("", rest)
        for word in CAMEL.findall(rest) + SNAKE.findall(rest):
            if not tree.has_name(word):
                yield f"{name}: nothing is called {word}"


def problems_of(files, tree):
    for name, text in files.items():
        yield from wrong_pages(name, text, tree)
        yield from wrong_headings(name, text, tree)
        if name.endswith(".md"):
            yield from wrong_links(name, text, tree)
            yield from wrong_code_names(name, text, tree)


def check_itself():
    """A planted fault of each kind is found, and nothing else."""
    page = "# Title\n\n## A part\n"
    files = {"docs/here.md": page,
             "engine/size.cc": "struct ByteSize {}; // --some-flag file_size"}
    tree = Tree(["docs/here.md", "engine/size.cc"], files)
    good = ('docs/here.md, "A part" [x](here.md#a-part) [x](here.md), "A\npart" '
            "`ByteSize` `*teSize*` `file_size` `--some-flag` `--some_flag=1` "
            "`engine/size.cc` `engine/size`")
    assert not list(problems_of({"docs/good.md": good}, tree))
    for bad in ("docs/there.md", 'docs/here.md, "A\n// third part"', '[x](here.md), "Another"',
                "[x](there.md)", "[x](here.md#another)", "`BitSize`", "`BitSize::Of()`",
                "`line_size`", "`--other-flag`", "`engine/other.cc`"):
        assert len(list(problems_of({"docs/bad.md": bad}, tree))) == 1, bad


def main():
    check_itself()
    names = tracked()
    here = os.path.relpath(os.path.abspath(__file__), ROOT)
    files = texts(name for name in names if not name.endswith((".csv", ".binpb")) and name != here)
    problems = sorted(set(problems_of(files, Tree(names, files))))
    print("\n".join(problems) or "all citations lead somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
