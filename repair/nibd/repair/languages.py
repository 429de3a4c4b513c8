"""Which language a file is in: a pure function of its path and its bytes.

The name decides, then the ending, then the interpreter in a `#!` line. `.h` is C, C++ or
Objective-C by what it says. What is none of the languages is `text`; Markdown is `markdown`.
Facts are kept by blob and language, so a blob under two names may have two sets of facts.
"""

from __future__ import annotations

import re

from nibd.stores.types import RepoPath

TEXT = "text"
MARKDOWN = "markdown"
CODE_LANGUAGES = (
    "python", "typescript", "tsx", "javascript", "go", "rust", "c", "cpp",
    "java", "csharp", "ruby", "php", "kotlin", "swift", "scala", "bash",
)  # fmt: skip
"""Those whose units are found by a grammar. `javascript` includes JSX; `tsx` is TypeScript with JSX."""

UNIT_KINDS = (
    "file", "window", "section",
    "actor", "annotation", "class", "companion", "concept", "constant", "delegate", "enum", "extension",
    "given", "global", "impl", "interface", "module", "namespace", "object", "protocol", "record",
    "singleton", "struct", "trait", "type", "union",
    "constructor", "deinit", "destructor", "event", "function", "indexer", "init", "initializer", "macro",
    "method", "operator", "property", "prototype", "subscript",
)  # fmt: skip
"""What the units of any language can be: those of text, scopes, callables."""

_HEADER_BYTES = 65_536
"""How much of a `.h` file is looked at."""

_ENDINGS = {
    language: endings.split()
    for language, endings in {
        "python": "py pyi pyw",
        "typescript": "ts mts cts",
        "tsx": "tsx",
        "javascript": "js mjs cjs jsx",
        "go": "go",
        "rust": "rs",
        "c": "c",
        "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp ixx inl tpp txx cppm cu cuh",
        "java": "java",
        "csharp": "cs csx",
        "ruby": "rb rake gemspec ru",
        "php": "php phtml php3 php4 php5 php7 phps",
        "kotlin": "kt kts",
        "swift": "swift",
        "scala": "scala sc sbt",
        "bash": "sh bash ksh bats ebuild",
        MARKDOWN: "md markdown mdown mkd mdx",
    }.items()
}
_BY_ENDING = {ending.encode(): language for language, endings in _ENDINGS.items() for ending in endings}
_BY_NAME = {
    name.encode(): language
    for language, names in {
        "python": "SConstruct SConscript wscript",
        "ruby": "Gemfile Rakefile Vagrantfile Guardfile Capfile Podfile Fastfile Brewfile Dangerfile",
        "bash": ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .envrc PKGBUILD",
        "javascript": "Jakefile",
    }.items()
    for name in names.split()
}
_BY_INTERPRETER = {
    "python": "python", "pypy": "python", "node": "javascript", "nodejs": "javascript", "deno": "typescript",
    "bun": "typescript", "ts-node": "typescript", "tsx": "typescript", "ruby": "ruby", "php": "php",
    "bash": "bash", "sh": "bash", "dash": "bash", "ash": "bash", "ksh": "bash", "mksh": "bash",
    "bats": "bash", "kotlin": "kotlin", "swift": "swift", "scala": "scala",
}  # fmt: skip

_SHEBANG = re.compile(rb"#![ \t]*(?:\S*/)?env[ \t]+(?:-\S+[ \t]+|\w+=\S*[ \t]+)*(\S+)|#![ \t]*(\S+)")
_C_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_OBJECTIVE_C = re.compile(
    rb"^[ \t]*(?:@(?:interface|protocol|class|import|end)\b|#[ \t]*import\b)", re.MULTILINE
)
_CPP = re.compile(
    rb"""^[ \t]*(?:
        template[ \t]*< | class[ \t]+\w | enum[ \t]+class\b | (?:inline[ \t]+)?namespace\b | constexpr\b
      | using[ \t]+[\w:]+ | (?:public|private|protected)[ \t]*: | virtual\b | explicit\b | friend\b
      | \#[ \t]*include[ \t]*<[a-z_/]+>
      ) | \bstd:: | \boperator[ \t]*[^\w\s] | \b(?:static_cast|reinterpret_cast|dynamic_cast|decltype)\b
      | \bnoexcept\b | =[ \t]*delete[ \t]*; | =[ \t]*default[ \t]*;""",
    re.MULTILINE | re.VERBOSE,
)


def language_of(path: RepoPath, content: bytes) -> str:
    """Name the language of a file: one of `CODE_LANGUAGES`, `markdown` or `text`.

    `content` may be raw bytes or decoded text; its first line and, for `.h`, its first 64 KiB count.
    """
    name = path.rsplit(b"/", 1)[-1]
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, ending = name.rpartition(b".")
    if not dot or not stem:
        return _by_interpreter(content)
    if ending in (b"C", b"H"):
        return "cpp"
    ending = ending.lower()
    if ending == b"h":
        return _header_language(content[:_HEADER_BYTES])
    return _BY_ENDING.get(ending) or _by_interpreter(content)


def _by_interpreter(content: bytes) -> str:
    if not content.startswith(b"#!"):
        return TEXT
    match = _SHEBANG.match(content[:512].partition(b"\n")[0])
    if match is None:
        return TEXT
    command = (match[1] or match[2]).rsplit(b"/", 1)[-1].decode("latin-1").strip()
    return _BY_INTERPRETER.get(command) or _BY_INTERPRETER.get(command.rstrip("0123456789."), TEXT)


def _header_language(content: bytes) -> str:
    code = _C_COMMENT.sub(b" ", content)
    if _OBJECTIVE_C.search(code):
        return TEXT
    return "cpp" if _CPP.search(code) else "c"
