"""The language of a text, by its script and its commonest words: enough to say that a model was not trained for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SCRIPTS: Final[Mapping[str, str]] = {
    "Japanese": "\u3040-\u30ff",  # before Chinese: both write Han characters
    "Korean": "\uac00-\ud7af\u1100-\u11ff",
    "Chinese": "\u4e00-\u9fff\u3400-\u4dbf",
    "Cyrillic script": "\u0400-\u052f",
    "Greek": "\u0370-\u03ff",
    "Hebrew": "\u0590-\u05ff",
    "Arabic script": "\u0600-\u06ff\u0750-\u077f",
    "Devanagari script": "\u0900-\u097f",
    "Bengali": "\u0980-\u09ff",
    "Tamil": "\u0b80-\u0bff",
    "Thai": "\u0e00-\u0e7f",
    "Georgian": "\u10a0-\u10ff",
    "Armenian": "\u0530-\u058f",
}
_COMMON: Final[Mapping[str, str]] = {
    "English": "the of and to is in that for it with as was are be by this from or have not which you at an on",
    "German": "der die das und ist nicht ein eine zu den von mit auf für im dem des sich auch werden wird oder als bei",
    "French": "le la les des et est dans une pour que qui sur pas par du plus avec au ce sont vous nous ou aux cette",
    "Spanish": "el los las que y en una por con para del se es como más su al lo pero está fue son este sus ha",
    "Italian": "il di che la per una è non sono con del della gli nel si più anche da le alla dei questo essere come",
    "Portuguese": "o os que não uma para com do da em dos das é por mais como ao foi são ser pela seu sua você",
    "Dutch": "het een van en dat niet zijn voor met op te aan er ook door maar bij deze wordt naar uit worden dit",
    "Swedish": "och att det som en på är av för med den till inte har de ett om från men kan eller sig när vid",
    "Danish": "og det at en er på til af for med den ikke har de et fra som der kan eller blev ved skal efter",
    "Norwegian": "og det er på til av for med som den ikke har et fra en kan eller ble ved skal etter å også",
    "Polish": "i w na się nie z do jest że to jak po od za są przez dla przy oraz który tym ale być czy",
    "Czech": "a v se na je že s z do o i jako po pro ale jsou nebo by být který jeho při také může",
    "Finnish": "ja on ei että se oli joka myös kun mutta ovat sen hän tai jos niin kuin voi ole sekä jossa",
    "Hungarian": "a az és hogy nem is egy van meg de csak ha volt mint már vagy ez ki kell lehet azt",
    "Turkish": "ve bir bu için ile olarak da de olan gibi daha çok ne var ama sonra kadar değil en veya",
    "Romanian": "și în de la a cu nu este pe care din o că pentru mai sau sunt fi ca au prin al dar",
    "Indonesian": "yang dan di dengan untuk dari pada ini itu tidak dalam adalah ke oleh akan juga sebagai atau ada",
    "Vietnamese": "và của là có được cho trong một không các với những người này để đã từ khi về",
}
_STOP_WORDS: Final = {name: frozenset(words.split()) for name, words in _COMMON.items()}
_SCRIPT_PATTERNS: Final = {name: re.compile(f"[{letters}]") for name, letters in _SCRIPTS.items()}
_WORD: Final = re.compile(r"[^\W\d_]+")
_SAMPLE: Final = 1_500  # characters from the beginning, and as many from the middle
_FEWEST: Final = 20  # words
_SHARE: Final = 0.1  # of the words must be common ones of the language
_AHEAD: Final = 1.3  # times as many as of any other


def language_of(text: str) -> str:
    """The language of a text, in English; empty if it cannot be told."""
    middle = max(_SAMPLE, len(text) // 2)
    sample = f"{text[:_SAMPLE]} {text[middle : middle + _SAMPLE]}".lower()
    words = _WORD.findall(sample)
    letters = sum(map(len, words))
    for name, pattern in _SCRIPT_PATTERNS.items():
        found = len(pattern.findall(sample))
        if found >= _FEWEST and found > (0.1 if name == "Japanese" else 0.4) * letters:
            return name
    if len(words) < _FEWEST:
        return ""
    shares = {name: sum(word in common for word in words) / len(words) for name, common in _STOP_WORDS.items()}
    best, second = sorted(shares, key=lambda name: -shares[name])[:2]
    related = {best, second} == {"Danish", "Norwegian"}
    return best if shares[best] >= _SHARE and (related or shares[best] >= _AHEAD * shares[second]) else ""
