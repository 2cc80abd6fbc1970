"""Three libraries that take text out of PDFs, on real files.

python -m tools.bench_pdf PDF[=HTML]... [--first 20] [--pages 12]

For each library: seconds, and what of the text is right. Where the same book is there as HTML (a file or a folder), the
share of its runs of eight words that the PDF's text has too: words that are glued or torn, columns that are mixed and
hyphens that are left all break runs. Needs pypdf, pdfminer.six and pypdfium2.
"""

from __future__ import annotations

import gzip
import io
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

_RUN = 8
_HYPHEN = re.compile(r"(\w)(?:-|\ufffe)\s*\n(?=[a-z])")


def by_pypdf(data: bytes, pages: range) -> str:
    """With pypdf."""
    import pypdf

    return "\n".join(
        page.extract_text() for page in list(pypdf.PdfReader(io.BytesIO(data)).pages)[pages.start : pages.stop]
    )


def by_pdfminer(data: bytes, pages: range) -> str:
    """With pdfminer.six, which pdfplumber builds on."""
    from pdfminer.high_level import extract_text

    return str(extract_text(io.BytesIO(data), page_numbers=set(pages)))


def by_pdfium(data: bytes, pages: range) -> str:
    """With pypdfium2."""
    import pypdfium2

    file = pypdfium2.PdfDocument(data)
    found = (file[number].get_textpage().get_text_range() for number in pages if number < len(file))
    return "\n".join(found).replace("\r\n", "\n").replace("\ufffe", "")


LIBRARIES: dict[str, Callable[[bytes, range], str]] = {
    "pypdf": by_pypdf, "pdfminer.six": by_pdfminer, "pypdfium2": by_pdfium,
}  # fmt: skip


def runs(text: str) -> set[tuple[str, ...]]:
    """All runs of eight words; case, punctuation and white space do not count."""
    words = re.findall(r"\w+", _HYPHEN.sub(r"\1", text).lower())
    return set(zip(*(words[shift:] for shift in range(_RUN)), strict=False))


def html_text(place: Path) -> str:
    """The text of a page, or of all pages of a folder."""
    from sparc_search.loaders.html import page

    files = sorted(place.glob("*.html")) if place.is_dir() else [place]
    return "\n".join(page(file.read_text("utf-8", "replace"), file.name).text for file in files)


def rows(path: Path, html: Path | None, pages: range) -> Iterator[str]:
    """A row of the table for each library."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    wanted = runs(html_text(html)) if html else set()
    texts, seconds = {}, {}
    for name, read in LIBRARIES.items():
        started = time.perf_counter()
        texts[name] = read(data, pages)
        seconds[name] = time.perf_counter() - started
    common = set().union(*(wanted & runs(text) for text in texts.values()))  # what of the book is on these pages
    for name, text in texts.items():
        words = text.split()
        glued = sum(len(word) > 30 and word.isalpha() for word in words)
        right = f"{100 * len(common & runs(text)) / len(common):.1f} %" if common else "-"
        yield f"| {path.name} | {name} | {seconds[name]:.2f} | {len(words):,} | {glued:,} | {right} |"


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--first", default=20, help="The first page that is read, to leave out tables of contents.")
@click.option("--pages", default=12, help="Pages of each file.")
def main(files: tuple[str, ...], first: int, pages: int) -> None:
    """Compare libraries on PDFs."""
    click.echo("| file | library | seconds | words | glued | runs of the HTML |\n|---|---|---|---|---|---|")
    for file in files:
        path, _, html = file.partition("=")
        for row in rows(Path(path), Path(html) if html else None, range(first, first + pages)):
            click.echo(row)


if __name__ == "__main__":
    main()
