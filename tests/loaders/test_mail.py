from __future__ import annotations

import json
from collections.abc import Callable

from sparc_search.loaders.resuming import Item
from sparc_search.records import Document

Items, One, Reject = Callable[..., list[Item]], Callable[..., Document], Callable[..., str]

MESSAGE = """From: Ada King <ada@example.org>
To: charles@example.org
Date: Tue, 12 Mar 2024 10:00:00 +0100
Subject: =?utf-8?q?The_h=C3=BCt?=
Content-Type: text/plain; charset=utf-8

The hut is open.

> What about it?
Yes, really.
-- \nAda
"""


def test_a_message_with_its_headers(one: One) -> None:
    document = one("mail", MESSAGE.encode(), "a.eml")
    assert document.title == "The hüt"
    assert document.metadata["from"] == "Ada King <ada@example.org>"
    assert document.text.splitlines()[:3] == [
        "From: Ada King <ada@example.org>", "To: charles@example.org", "Date: Tue, 12 Mar 2024 10:00:00 +0100",
    ]  # fmt: skip
    assert document.text.endswith("The hut is open.\n\nYes, really.")


def test_a_mailbox_has_many(items: Items) -> None:
    box = "".join(f"From ada@example.org Tue Mar 12\n{MESSAGE}\n" for _ in range(3))
    messages = items("mail", box.encode(), "box.mbox")
    assert [message.id for message in messages if isinstance(message, Document)] == [f"box.mbox#{n}" for n in (1, 2, 3)]


def test_html_mail(one: One) -> None:
    message = b"Subject: x\nContent-Type: text/html; charset=utf-8\n\n<p>The <b>hut</b>.</p><script>no</script>"
    assert one("mail", message, "a.eml").text == "The hut."


def test_notebook(one: One, reject: Reject) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Huts\n", "\n", "Open."]},
        {"cell_type": "code", "source": "go()\n", "outputs": [{"text": "no"}]},
    ]
    document = one("notebook", json.dumps({"cells": cells}).encode(), "x.ipynb")
    assert (document.title, document.text) == ("Huts", "Huts\n\nOpen.\n\ngo()")
    assert reject("notebook", b"{}")
    assert reject("notebook", b"[")


def test_subtitles(one: One) -> None:
    srt = (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>The hut</i>\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,500\r\nis open.\r\n"
    )
    assert one("subtitles", srt.encode(), "x.srt").text == "The hut is open."
    vtt = "WEBVTT\n\n00:01.000 --> 00:02.000 align:start\nThe hut\n\nid\n00:02.000 --> 00:03.000\nis open.\n"
    assert one("subtitles", vtt.encode(), "x.vtt").text == "The hut id is open."
