"""A PDF file, written by hand."""

from __future__ import annotations

from collections.abc import Sequence


def pdf(*pages: Sequence[str] | bytes, info: str = "", more: Sequence[bytes] = ()) -> bytes:
    """A PDF file with these lines (or this stream) on its pages, written by hand."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, lines in enumerate(pages):
        if isinstance(lines, bytes):
            stream = lines
        else:
            shown = " ".join(f"({line}) Tj T*" for line in lines)
            stream = f"BT /F 12 Tf 14 TL 50 700 Td {shown} ET".encode()
        page = f"<</Type/Page/Parent 2 0 R/Contents {5 + 2 * number} 0 R/Resources<</Font<</F 3 0 R>>>>>>"
        objects += [page.encode(), b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream)]
    objects += [f"<<{info}>>".encode(), *more]
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    info_number = len(objects) - len(more)
    trailer = b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF" % (count, info_number, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % count + table + trailer
