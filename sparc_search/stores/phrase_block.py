"""Phrase blocks as bytes: `encode` and `decode`. `block_layout` says what stands where.

Nothing is lost, and each column is coded by what it is: small numbers in as many bits as the largest needs (vectors
from -8 to 7, the number of one of sixteen levels, scales above the smallest of them), kept positions as a bit each, the
rows of sparse columns as ascending numbers (`packed_rows`), lexical terms as the tokens that they are. There is no
compression beyond that: a reader takes the columns it needs without unpacking the rest.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import SIDES, PhraseBlock, SparseColumns
from .block_layout import CHECKED_FROM, FIELDS, FLAG_BITS, HEAD, ID_TYPES, MAGIC, MATRIX, OFFSET_BYTES, Column
from .offsets import pack_offsets, unpack_offsets
from .packed_rows import row_bits
from .packing import SHORT, fits_halves, is_short, pack_bits, pack_halves, pack_numbers, pack_places
from .phrase_block_batch import block_of, decode_batch

_TOKENS_AT, _KIND_AT = FIELDS["tokens"][1], FIELDS["offset_kind"][1]
"""Of a head, what the offsets are read by: numpy takes longer to look at a record."""

Array = NDArray[Any]

_MOST = 0xFFFF
_NOTHING = np.zeros(0, np.uint8)


# --- to bytes --------------------------------------------------------------------------------------------------------


def encode(block: PhraseBlock) -> bytes:
    """A block as bytes; `decode` gives back an equal one."""
    _check(block)
    head = np.zeros((), HEAD)
    head["magic"] = MAGIC
    columns = {**_tokens(block, head), **_vectors(block, head), **_terms(block, head)}
    described, sparse = _matrices(block, head)
    columns |= sparse
    rest = described.tobytes() + b"".join([columns[which].tobytes() for which in Column])
    head["checksum"] = zlib.crc32(rest, zlib.crc32(head.tobytes()[CHECKED_FROM:]))
    return bytes(head.tobytes()) + rest


Columns = dict[Column, Array]


def _tokens(block: PhraseBlock, head: Any) -> Columns:
    ids = np.concatenate([block.token_ids, block.lex_ids])
    head["tokens"] = len(block.token_ids)
    head["id_bytes"] = 2 if ids.min(initial=0) >= 0 and ids.max(initial=0) <= _MOST else 4
    head["offset_kind"], offsets = pack_offsets(block.offsets)
    return {
        Column.TOKEN_IDS: block.token_ids.astype(ID_TYPES[int(head["id_bytes"])]),
        Column.FLAGS: pack_numbers(block.flags, FLAG_BITS),
        Column.OFFSETS: offsets,
    }


def _vectors(block: PhraseBlock, head: Any) -> Columns:
    start, end = block.start, block.end
    head["starts"], head["ends"] = len(start.positions), len(end.positions)
    head["dense"], head["span"] = start.vectors.shape[1], start.spans.shape[1]
    head["pooled"], head["passage_scale"] = len(block.passage_vector), block.passage_scale
    head["vector_bits"] = 4 if fits_halves(start.vectors) and fits_halves(end.vectors) else 8
    head["span_bits"] = 4 if fits_halves(start.spans) and fits_halves(end.spans) else 8
    every = (start.vector_scales, end.vector_scales), (start.span_scales, end.span_scales)
    head["scale_shift"] = SHORT if all(is_short(scales) for pair in every for scales in pair) else 0
    columns: Columns = {Column.PASSAGE_VECTOR: block.passage_vector}
    for what, pair in zip(("scale", "span_scale"), every, strict=True):
        numbers = [scales.view("<u4").astype(np.int64) >> int(head["scale_shift"]) for scales in pair]
        joined = np.concatenate(numbers)
        head[f"{what}_base"] = base = int(joined.min()) if len(joined) else 0
        head[f"{what}_bits"] = bits = (int(joined.max(initial=0)) - base).bit_length() if len(joined) else 0
        for side, own in zip(SIDES, numbers, strict=True):
            columns[Column.of(side, f"{what}s")] = pack_numbers(own - base, bits)
    for side, phrases in zip(SIDES, (start, end), strict=True):
        columns[Column.of(side, "positions")] = pack_places(phrases.positions, len(block.token_ids))
        columns[Column.of(side, "vectors")] = _packed(phrases.vectors, head["vector_bits"])
        columns[Column.of(side, "spans")] = _packed(phrases.spans, head["span_bits"])
    return columns


def _terms(block: PhraseBlock, head: Any) -> Columns:
    """Most lexical terms are word pieces of the block, and so are known by their place."""
    tokens, first = np.unique(block.token_ids, return_index=True)
    is_token = np.isin(block.lex_ids, tokens)
    places = first[np.searchsorted(tokens, block.lex_ids[is_token])]
    impacts, number = np.unique(block.lex_impacts, return_inverse=True)
    in_order = np.concatenate([number[is_token][places.argsort()], number[~is_token]])
    head["terms"], head["other_terms"] = len(block.lex_ids), np.count_nonzero(~is_token)
    head["impacts"], head["impact_bits"] = len(impacts), max(len(impacts) - 1, 0).bit_length()
    return {
        Column.TERMS: pack_places(places, len(block.token_ids)),
        Column.OTHER_TERMS: block.lex_ids[~is_token].astype(ID_TYPES[int(head["id_bytes"])]),
        Column.IMPACTS: impacts.astype("<f4"),
        Column.TERM_IMPACTS: pack_numbers(in_order, int(head["impact_bits"])),
    }


def _matrices(block: PhraseBlock, head: Any) -> tuple[Array, Columns]:
    start, end = block.start, block.end
    matrices = (*start.sparse, *end.sparse)
    kept = [len(start.positions)] * len(start.sparse) + [len(end.positions)] * len(end.sparse)
    counts = [np.diff(own.indptr).astype(np.int64) for own in matrices]
    rows = [row_bits(own, m.rows.astype(np.int64), most) for own, m, most in zip(counts, matrices, kept, strict=True)]
    described = np.zeros(len(matrices), MATRIX)
    described["scale"], described["n"] = [own.scale for own in matrices], [own.n for own in matrices]
    described["entries"], described["row_bits"] = [len(own.rows) for own in matrices], [len(bits) for bits in rows]
    described["filled"] = [np.count_nonzero(own) for own in counts]
    joined = np.concatenate([np.zeros(0, np.int64), *counts])
    filled = joined > 0
    values, levels = np.concatenate([_NOTHING, *(own.values for own in matrices)]), np.zeros(0, np.uint8)
    head["start_matrices"], head["end_matrices"] = len(start.sparse), len(end.sparse)
    head["count_bits"] = max(int(joined.max(initial=0)) - 1, 0).bit_length()
    head["value_bits"] = 8
    if len(levels := np.unique(values)) <= len(head["levels"]):
        head["value_bits"], head["levels"][: len(levels)] = 4, levels
        values = pack_numbers(np.searchsorted(levels, values), 4)
    return described, {
        Column.FILLED: pack_bits(filled),
        Column.COUNTS: pack_numbers(joined[filled] - 1, int(head["count_bits"])),
        Column.ROWS: pack_bits(np.concatenate([np.zeros(0, bool), *rows])),
        Column.VALUES: values,
    }


def _check(block: PhraseBlock) -> None:
    sizes = (len(block.token_ids), len(block.lex_ids), len(block.passage_vector), *block.start.vectors.shape)
    if max(sizes) > _MOST:
        raise ValueError(f"a phrase block holds at most 65,535 of each: {sizes}")
    if block.flags.max(initial=0) >> FLAG_BITS:
        raise ValueError("there are four flags")
    if np.any(np.diff(block.lex_ids) <= 0):
        raise ValueError("lexical terms must be ascending")
    for side in (block.start, block.end):
        if np.any(np.diff(side.positions) <= 0):
            raise ValueError("kept positions must be ascending")
        if not all(map(_is_ascending, side.sparse)):
            raise ValueError("the rows of a sparse column must be ascending")


def _is_ascending(columns: SparseColumns) -> bool:
    """Whether the rows of every column are."""
    steps = np.diff(columns.rows.astype(np.int64))
    begins = columns.indptr[1:-1]
    steps[begins[(begins > 0) & (begins < len(columns.rows))] - 1] = 1  # from one column to the next
    return bool(np.all(steps > 0))


def _packed(matrix: NDArray[np.int8], bits: int) -> Array:
    return pack_halves(matrix) if bits == 4 else matrix


# --- and back --------------------------------------------------------------------------------------------------------


def decode(data: bytes, *, check: bool = True) -> PhraseBlock:
    """The block in `data`; `IndexDamaged` if bytes are missing or, with `check`, changed."""
    return block_of(decode_batch([data], check=check))


def read_last_column(data: bytes) -> NDArray[np.int32]:
    """The offsets of the tokens of a whole block; they are what it ends with."""
    tokens, kind = int.from_bytes(data[_TOKENS_AT : _TOKENS_AT + 2], "little"), data[_KIND_AT]
    size = tokens * int(OFFSET_BYTES[min(kind, 3)])
    return unpack_offsets(kind, np.frombuffer(data, np.uint8, size, len(data) - size))
