"""Decimal numbers and equal cells, eight bytes at a time: a chunk of text is read without making a string a cell.

A cell's digits are loaded as 64-bit words and turned into an integer by three multiplications a word. The result is the
correctly rounded float64, the same as ``float(cell)``: mantissas up to 2**53 over a power of ten up to 10**22 are exact
by one division; larger ones go through an extended float, and the rare tie there is left over. Whatever is not a plain
decimal is left over too ("odd"), for the strict reader of one cell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grpo_calc.table import Floats, Integers

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

PADDING = 40
"""Bytes that must follow the last cell, so that a word never runs over the end."""

_U = np.uint64
_ONES, _HIGH, _ZEROS, _OVER_NINE = (_U(int(byte * 8, 16)) for byte in ("01", "80", "30", "76"))
_POWERS = np.array([10**i for i in range(20)], dtype=np.uint64)
_FLOAT_POWERS = np.array([10.0**i for i in range(23)])
_LONG_POWERS = np.array([np.longdouble(10) ** i for i in range(28)])
_LONG_IS_EXTENDED = np.finfo(np.longdouble).nmant >= 63
_EXACT = _U(1 << 53)
_ONE_BYTE = _U(8)
_BELOW = np.array([(1 << 8 * place) - 1 for place in range(9)], dtype=np.uint64)
"""The bytes of a word before a place."""
_SHIFT = np.array([0, *(64 - 8 * length for length in range(1, 9))], dtype=np.uint64)
_USED = np.array([0, *([2**64 - 1] * 8)], dtype=np.uint64)
"""For a number of digits: how far up to move them, and whether there are any."""


def words_of(raw: Bytes) -> Words:
    """The eight bytes that begin at every place, as little-endian words (a view)."""
    return np.ndarray((len(raw) - 7,), dtype="<u8", buffer=raw.data, strides=(1,))


def decimals(raw: Bytes, start: Integers, end: Integers, point: str = ".") -> tuple[Floats, Flags]:
    """The numbers in the cells ``raw[start:end]``, and which cells are odd (their number is meaningless).

    >>> text = b"-0.5,12,x," + bytes(PADDING)
    >>> decimals(np.frombuffer(text, np.uint8), np.array([0, 5, 8]), np.array([4, 7, 9]))[0][:2]
    array([-0.5, 12. ])
    """
    words = words_of(raw)
    sign = raw[start]
    negative = sign == ord("-")
    start = start + (negative | (sign == ord("+")))
    end, exponent = _exponent(raw, start, end)
    length = end - start
    first = words[start]
    place = _first(first, point)
    dotted = place < np.minimum(length, 8)
    first = _without(first, np.where(dotted, place, 8))
    taken = np.minimum(length, 8) - dotted
    mantissa, odd = _digits(first, taken)
    left, at = length - 8, start + 8
    odd |= (taken == 0) | ((left > 0) & ~dotted)
    for _ in range(2):  # 24 bytes in all: more than nineteen digits are odd anyway
        if not (left > 0).any():
            break
        here = np.minimum(np.maximum(left, 0), 8)
        more, bad = _digits(words[np.minimum(at, len(words) - 1)], here)
        mantissa *= _POWERS[here]
        mantissa += more
        odd |= bad
        left -= 8
        at += 8
    odd |= length - dotted > 19
    scale = np.where(dotted, length - place - 1, 0) - exponent
    odd |= (scale < 0) | (scale > 27)
    scale[odd] = 0
    values, unsure = _quotient(mantissa, scale)
    np.negative(values, out=values, where=negative)
    odd |= unsure
    return values, odd


def _without(word: Words, place: Integers) -> Words:
    """Each word without the byte at a place; the bytes after it move one down. Place 8 leaves the word as it is."""
    below = _BELOW[place]
    return (word & below) | ((word >> _ONE_BYTE) & ~below)


def _exponent(raw: Bytes, start: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Where the mantissa ends, and the exponent, for cells that end like ``e-07``; other forms are left as they are."""
    mark = end - 4
    found = (mark > start) & ((raw[np.maximum(mark, 0)] | 32) == ord("e"))
    exponent = np.zeros(len(end), dtype=np.int64)
    at = np.flatnonzero(found)
    if len(at):
        sign, tens, units = (raw[mark[at] + i].astype(np.int64) for i in (1, 2, 3))
        tens, units = tens - ord("0"), units - ord("0")
        good = ((sign == ord("-")) | (sign == ord("+"))) & (tens >= 0) & (tens <= 9) & (units >= 0) & (units <= 9)
        at, sign, tens, units = at[good], sign[good], tens[good], units[good]
        exponent[at] = np.where(sign == ord("-"), -1, 1) * (10 * tens + units)
        end = end.copy()
        end[at] -= 4
    return end, exponent


def _first(word: Words, character: str) -> Integers:
    """The place of the first such character in each word; 8 where there is none."""
    difference = word ^ (_U(ord(character)) * _ONES)
    flags = (difference - _ONES) & ~difference & _HIGH
    return (np.bitwise_count((flags & (~flags + _U(1))) - _U(1)) >> 3).astype(np.int64)


def _digits(word: Words, length: Integers) -> tuple[Words, Flags]:
    """The integer in the first ``length`` bytes of each word, and where one of them is not a digit."""
    digits = word ^ _ZEROS
    digits <<= _SHIFT[length]
    digits &= _USED[length]
    check = digits + _OVER_NINE
    check |= digits
    check &= _HIGH
    digits *= _U(10 * 256 + 1)
    digits >>= _U(8)
    digits &= _U(0x00FF00FF00FF00FF)
    digits *= _U(100 * 65536 + 1)
    digits >>= _U(16)
    digits &= _U(0x0000FFFF0000FFFF)
    digits *= _U(10000 * 2**32 + 1)
    digits >>= _U(32)
    return digits, check != 0


def _quotient(mantissa: Words, scale: Integers) -> tuple[Floats, Flags]:
    """``mantissa / 10**scale`` correctly rounded, and where that is not sure."""
    unsure = (mantissa > _EXACT) | (scale > 22)
    values = mantissa.astype(np.float64)
    values /= _FLOAT_POWERS[np.minimum(scale, 22)]
    if _LONG_IS_EXTENDED and unsure.any():
        at = np.flatnonzero(unsure)
        quotient = mantissa[at].astype(np.longdouble)
        quotient /= _LONG_POWERS[scale[at]]
        rounded = quotient.astype(np.float64)
        quotient -= rounded
        # Rounding twice can be wrong only where the extended quotient lies exactly between two float64 (which are half
        # as far apart below a power of two).
        apart, gap = np.abs(quotient.astype(np.float64)), np.spacing(rounded)
        values[at], unsure[at] = rounded, (apart * 2 == gap) | (apart * 4 == gap)
    return values, unsure


def changes(raw: Bytes, start: Integers, end: Integers) -> Flags:
    """Where a cell differs from the cell before it; the first always does.

    >>> text = b"a,a,b," + bytes(PADDING)
    >>> changes(np.frombuffer(text, np.uint8), np.array([0, 2, 4]), np.array([1, 3, 5]))
    array([ True, False,  True])
    """
    words = words_of(raw)
    length = end - start
    different = np.ones(len(start), dtype=np.bool_)
    if not len(start):
        return different
    different[1:] = length[1:] != length[:-1]
    for done in range(0, int(length.max()), 8):
        here = np.minimum(np.maximum(length - done, 0), 8)
        word = words[np.minimum(start + done, len(words) - 1)] << (
            _U(64) - _U(8) * np.maximum(here, 1).astype(np.uint64)
        )
        different[1:] |= (word[1:] != word[:-1]) & (here[1:] > 0)
    return different
