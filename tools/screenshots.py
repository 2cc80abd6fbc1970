"""The pictures of README and docs: pages of a server over the sample corpus, in Chromium.

sparc-search ingest examples/corpus --index DEMO
sparc-search serve --index DEMO --port 8000
python tools/screenshots.py http://127.0.0.1:8000 [NAME …]
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import urlencode

IMAGES: Final = Path(__file__).resolve().parents[1] / "docs" / "images"
SUEZ: Final = "When was the Suez Canal opened?"
BACH: Final = "How many children did Bach have with his first wife?"
"""The vectors alone would take the children of the second; the words decide."""


class Picture(NamedTuple):
    """A page, and how much of it is shown."""

    path: str
    width: int = 1280
    height: int = 900
    theme: Literal["light", "dark"] = "light"
    link: str = ""
    """A link that leads from there to the page to show."""


PICTURES: Final = {
    "why": Picture("/why?" + urlencode({"q": SUEZ}), height=980),
    "why-dark": Picture("/why?" + urlencode({"q": BACH}), height=1118, theme="dark"),
    "ask": Picture("/?" + urlencode({"q": SUEZ})),
    "ask-phone": Picture("/?" + urlencode({"q": SUEZ}), width=375, height=720),
    "passage": Picture("/?" + urlencode({"q": SUEZ}), link="Suez Canal"),
    "discover": Picture("/discover?" + urlencode({"q": "canal start:canal>0.2"})),
    "feature": Picture("/features/canal"),
    "index": Picture("/index"),
}


def main() -> None:
    """Take the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in given.names or PICTURES:
            picture = PICTURES[name]
            page = browser.new_page(
                viewport={"width": picture.width, "height": picture.height}, color_scheme=picture.theme
            )
            page.goto(given.address.rstrip("/") + picture.path)
            if picture.link:
                page.get_by_role("link", name=picture.link, exact=True).first.click()
                page.wait_for_load_state("networkidle")
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
