"""reStructuredText, LaTeX, RTF: what is written as structure is read as structure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sparc_search.errors import RejectedDocument
from sparc_search.loaders.blocks import blocks_of
from sparc_search.loaders.resuming import Item
from sparc_search.records import Document

One, Items, Reject = Callable[..., Document], Callable[..., list[Item]], Callable[..., str]

RST = """
=====
Huts
=====

:Author: Ada King
:Date: 2024-03-12

Some ``code``, :ref:`a link <target>`, `a site <https://example.org>`_ and *more* [1]_.

Beds
----

- first item
  goes on
- second::

     code here

term
    What it means.

-f, --force  Overwrite files.

.. note:: Be careful.

.. function:: open(file, mode='r')

   Open a file.

.. a comment

=====  =====
Hut    Beds
=====  =====
Old    12
=====  =====

+------+------+
| Year | Rent |
+======+======+
| 2025 | 2100 |
|      | EUR  |
+------+------+

.. list-table:: Sizes
   :header-rows: 1

   * - Name
     - Size
   * - a
     - 10

.. toctree::

   chapter
"""

TEX = r"""\documentclass{article}
\title{On \emph{Huts}} \author{Ada King} \date{12 March 2024}
\begin{document}
\section{Beds \& rooms}\label{sec:x}
The hut has \textbf{12} beds~\cite{a}. % not this
Caf\'e costs 5\,\% more --- ``really''.
\begin{itemize}
\item one
\item two
\end{itemize}
\begin{description}
\item[--force] Overwrites.
\end{description}
\begin{verbatim}
x = {1} % as it is
\end{verbatim}
\begin{tabular}{l|r}
\hline
Year & Rent & Note \\ \hline
2025 & \multicolumn{2}{c}{2,100} \\
\end{tabular}
\end{document}
not this
"""

RTF = r"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title My Lease}{\author Ada}}{\header Running}
\pard\outlinelevel0 Rent\par
\pard Caf\'e9 costs \u8364?5 and \b bold\b0 .\par
{\pntext 1.\tab}First item\par
\trowd\pard\intbl Year\cell Rent\cell Note\cell\row
\trowd\pard\intbl 2025\cell 2,100\cell x\cell\row
\pard After \u-10179?\u-8704? it\par}
"""


def blocks(document: Document) -> list[tuple[str, str, str, str]]:
    """Heading, kind, what it stands under, and text of each block."""
    return [
        (section.heading, block.kind, block.under, document.text[block.start : block.end])
        for section, some in blocks_of(document)
        for block in some
    ]


def test_restructured_text(one: One) -> None:
    document = one("rst", RST.encode(), "huts.rst")
    assert (document.title, document.metadata) == ("Huts", {"author": "Ada King", "date": "2024-03-12"})
    assert blocks(document) == [
        ("", "item", "", "Author: Ada King"),
        ("", "item", "", "Date: 2024-03-12"),
        ("", "paragraph", "", "Some code, a link, a site and more."),
        ("Beds", "item", "", "first item\ngoes on"),
        ("Beds", "item", "", "second:"),
        ("Beds", "code", "", "code here"),
        ("Beds", "term", "", "term"),
        ("Beds", "item", "term", "What it means."),
        ("Beds", "term", "", "-f, --force"),
        ("Beds", "item", "-f, --force", "Overwrite files."),
        ("Beds", "paragraph", "", "Be careful."),
        ("Beds", "term", "", "open(file, mode='r')"),
        ("Beds", "paragraph", "open(file, mode='r')", "Open a file."),
        ("Beds", "head", "", "Hut | Beds"),
        ("Beds", "row", "", "Old | 12"),
        ("Beds", "head", "", "Year | Rent"),
        ("Beds", "row", "", "2025 | 2100 EUR"),
        ("Beds", "term", "", "Sizes"),
        ("Beds", "head", "Sizes", "Name | Size"),
        ("Beds", "row", "Sizes", "a | 10"),
    ]


def test_latex(one: One) -> None:
    document = one("tex", TEX.encode(), "huts.tex")
    assert (document.title, document.metadata) == ("On Huts", {"author": "Ada King", "date": "12 March 2024"})
    assert blocks(document) == [
        ("", "paragraph", "", "Date: 12 March 2024"),
        (
            "Beds & rooms",
            "paragraph",
            "",
            "The hut has 12 beds. Café costs 5 % more \N{EM DASH} \N{LEFT DOUBLE QUOTATION MARK}"
            "really\N{RIGHT DOUBLE QUOTATION MARK}.",
        ),
        ("Beds & rooms", "item", "", "one"),
        ("Beds & rooms", "item", "", "two"),
        ("Beds & rooms", "term", "", "--force"),
        ("Beds & rooms", "item", "--force", "Overwrites."),
        ("Beds & rooms", "code", "", "x = {1} % as it is"),
        ("Beds & rooms", "head", "", "Year | Rent | Note"),
        ("Beds & rooms", "row", "", "2025 | 2,100"),
    ]


MACROS = r"""\newcommand{\hut}{Alpine Club} % a name
\newcommand*\beds[2][12]{#2 with #1~beds} \def\price#1{\$#1.50} \def\odd#1.{never}
\newcommand{\head}[1]{\section{#1}}
\title{On \hut{}s\thanks{To all.}} \author{Ada King \and Bob}
\begin{document}
\head{The \hut}
The \hut{} has \beds{a room} and \beds[3]{another}, at \price{20}. A \verb|a_b{c}%d| at \url{https://a.org/x_y%20z~b}.
Stra{\ss}e, \"Uber, na\"\i ve, "`Zitat"', \textcolor{red}{red}\footnote{In \textbf{summer}.}, 50\,\% of \$5, a\_b,
\texttt{--force} and \textbackslash{}n, \href{http://x.org/%7e}{a link}~\cite[p.~3]{k}.
\begin{lstlisting}[language=C]
\hut{} % stays
\end{lstlisting}
\begin{itemize}
\item \hut
  \begin{enumerate}
  \item inner
  \end{enumerate}
\item last
\end{itemize}
\begin{tabular}{l|l}
\multirow{2}{*}{Name} & \textbf{Size} \\[2pt] \hline
\hut & \price{7} \\
\end{tabular}
\begin{thebibliography}{9}
\bibitem{k} Ada King, \emph{Huts}.
\end{thebibliography}
\end{document}
"""


def test_macros_and_commands_of_latex(one: One) -> None:
    document = one("tex", MACROS.encode(), "huts.tex")
    assert (document.title, document.metadata) == ("On Alpine Clubs", {"author": "Ada King, Bob"})
    assert blocks(document) == [
        (
            "The Alpine Club",
            "paragraph",
            "",
            "The Alpine Club has a room with 12 beds and another with 3 beds, at $20.50. A a_b{c}%d at "
            "https://a.org/x_y%20z~b.\nStra\N{LATIN SMALL LETTER SHARP S}e, Über, naïve, "
            "\N{DOUBLE LOW-9 QUOTATION MARK}Zitat\N{LEFT DOUBLE QUOTATION MARK}, red, 50 % of $5, a_b,\n"
            "--force and \\n, a link.",
        ),
        ("The Alpine Club", "paragraph", "", "In summer."),
        ("The Alpine Club", "code", "", "\\hut{} % stays"),
        ("The Alpine Club", "item", "", "Alpine Club"),
        ("The Alpine Club", "item", "", "inner"),
        ("The Alpine Club", "item", "", "last"),
        ("The Alpine Club", "head", "", "Name | Size"),
        ("The Alpine Club", "row", "", "Alpine Club | $7.50"),
        ("The Alpine Club", "item", "", "Ada King, Huts."),
    ]


def test_a_long_field_of_a_table_in_restructured_text(one: One) -> None:
    field = "word " * 40_000
    document = one("rst", f'.. csv-table::\n   :header: a, b\n\n   x, "{field}"\n'.encode())
    assert field.strip() in document.text


def test_rtf(one: One) -> None:
    document = one("rtf", RTF.encode(), "lease.rtf")
    assert (document.title, document.metadata) == ("My Lease", {"author": "Ada"})
    assert blocks(document) == [
        ("Rent", "paragraph", "", "Café costs €5 and bold."),
        ("Rent", "item", "", "First item"),
        ("Rent", "head", "", "Year | Rent | Note"),
        ("Rent", "row", "", "2025 | 2,100 | x"),
        ("Rent", "paragraph", "", "After \N{GRINNING FACE} it"),
    ]


HOSTILE = {
    "nothing": b"",
    "zeros": b"\0" * 1000,
    "deep braces": b"{" * 200_000,
    "deep groups": b"{\\rtf1 " + b"{" * 200_000,
    "deep arrays": b"[" * 200_000,
    "deep objects": b'{"a":' * 900 + b"1" + b"}" * 900,
    "deep lists": b"".join(b" " * (2 * depth) + b"- x\n\n" for depth in range(400)),
    "deep items": b"\\begin{itemize}\\item x" * 5_000,
    "open arguments": b"\\section{" * 2_000,
    "open roles": b":a:`" * 20_000,
    "one long line": b"a" * 500_000,
    "many stars": b"*" * 200_000,
    "many dashes": b"- " * 100_000,
    "rules": b"=== ===\n" * 5_000,
    "half a grid": b"+--+\n|" * 5_000,
    "half a number": b"{\\rtf1 \\u99999999 \\u-1 \\'zz \\bin999999999 x",
    "a huge number": b"[" + b"1" * 10_000 + b"]",
    "half a character": b'{"text": "\\ud800"}',
    "other encodings": "{\\rtf1 Zürich}".encode("utf-16"),
    "no objects": b'[1, null, "x", [2], {}]',
    "empty objects": b"[{}, {}, {}]",
    "odd messages": b'[{"author": {"name": 3}, "text": [1, {"text": 2}], "date": true}]',
    "odd dates": b'[{"author": "a", "text": "b", "date": 1e300}, {"author": "a", "text": "b", "date": "9999999999"}]',
    "many flags": b"--a, " * 10_000,
    "open macros": b"\\newcommand{\\x}{" * 5_000,
    "macros of macros": b"".join(b"\\def\\%c{\\%c\\%c}" % (a, a + 1, a + 1) for a in range(97, 122)) + b"\\a",
    "a macro of itself": b"\\def\\x#1{\\x{#1#1}}\\x{y}",
    "steps down": b"\\\\[" * 50_000,
    "odd functions": b"int a b c d e f g h i j k l m n o p q r s t u v w x y z " * 5 + b"\n" + b"a " * 140 + b"(\n",
}


@pytest.mark.parametrize("reader", ["rst", "tex", "rtf", "code", "json", "chat", "text"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_read_or_rejected_with_a_reason(items: Items, reader: str, name: str) -> None:
    for item in items(reader, HOSTILE[name], f"a.{reader}"):
        if isinstance(item, RejectedDocument):
            assert item.remedy
            assert "cannot be read: " not in item.message  # which would be an exception that nobody thought of
        else:
            assert list(blocks_of(item)) is not None


@pytest.mark.parametrize(("reader", "whole"), [("rst", RST), ("tex", TEX), ("rtf", RTF)])
def test_files_that_were_cut_off_are_read_as_far_as_they_go(items: Items, reader: str, whole: str) -> None:
    for end in range(0, len(whole), 7):
        for item in items(reader, whole[:end].encode(), "a"):
            assert isinstance(item, Document) or "not RTF" in item.message


def test_what_is_not_rtf(reject: Reject) -> None:
    assert "not RTF" in reject("rtf", b"Just words.")
