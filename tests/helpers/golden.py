"""The golden index: made once for each format, kept as a file, and read by every later version of that format.

python tests/helpers/golden.py    makes it anew; needed when the format number is raised, and only then
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from pathlib import Path

from engines import open_local
from small_corpus import DOCUMENTS, encode_all, words

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.settings import Settings
from sparc_search.stores.local.database import FORMAT

ARCHIVES = {number: Path(__file__).parent.parent / "data" / f"golden-format-{number}.zip" for number in (2, 4)}
"""By their formats; the last is today's. No version was released with 3."""
QUESTIONS = ("Who climbed the Eiger in 1858?", "Which sea has no outlet?", "red north 1901")


def make(encoder: Encoder, archive: Path) -> None:
    """An index of a few documents, one of them replaced and one deleted, with the answers it gives."""
    with tempfile.TemporaryDirectory() as scratch:
        index = Path(scratch) / "index"
        with open_local(index, encoder.fingerprint, writable=True) as store:
            store.add(encode_all([*DOCUMENTS, *words(12)], encoder))
            store.add(encode_all(words(2, seed=0)[:1], encoder))
            store.delete(["d0-003"])
        found = answers(index, encoder)
        archive.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(index.rglob("*")):
                file.write(path, path.relative_to(index))
            file.writestr("answers.json", json.dumps(found, indent=1))


def answers(index: Path, encoder: Encoder) -> list[list[list[object]]]:
    """Text, passage and score of the first three answers to each question."""
    with Index.open(index, settings=Settings(), encoder=encoder) as searching:
        return [
            [[answer.text, answer.passage.id, answer.score] for answer in reply.answers]
            for reply in searching.ask_many(list(QUESTIONS), k=3)
        ]


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent.parent))
    from toy_encoder import open_encoder

    make(open_encoder(), ARCHIVES[FORMAT])
