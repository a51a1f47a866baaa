"""What a script is made of. Plain frozen values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Characters as they stand. `is_quoted`: neither split into words nor matched against file names."""

    text: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name` or `${name}`; with an operator `${name:-word}`, `${#name}`."""

    name: str
    is_quoted: bool = False
    operator: str = ""
    word: Word = ()


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(script)`."""

    script: Script
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((expression))`."""

    word: Word
    is_quoted: bool = False


Part = Text | Variable | Substitution | Arithmetic
Word = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """`fd` goes to (`>`, `>>`) or comes from (`<`) a file, or is another one (`>&`)."""

    fd: int
    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """`{ …; }`, or `( … )` in a shell of its own."""

    script: Script
    is_subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with what follows from them; `otherwise` may be empty."""

    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class While:
    condition: Script
    body: Script
    is_until: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    name: str
    words: tuple[Word, ...]
    body: Script
    redirects: tuple[Redirect, ...] = ()


Command = Simple | Group | If | While | For


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`joined_by` what came before: "" or ";", "&&", "||"."""

    joined_by: str
    commands: tuple[Command, ...]
    is_negated: bool = False


Script = tuple[Pipeline, ...]
