"""Text that a stranger wrote, made safe to look at: nothing in it moves the cursor, hides, or turns the line around."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Control characters as pictures, unseen ones by their number, outer spaces as ``␣``, lone surrogates as ``�``.

    >>> visible(" a\tb\n"), visible("\x1b[31m"), visible("a\u202eb")
    ('␣a␉b␊', '␛[31m', 'a⟨U+202E⟩b')
    """
    inner = text.strip(" ")
    if not inner:
        return "␣" * len(text)
    before, after = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    return "␣" * before + ("".join(map(_seen, inner)) if not inner.isprintable() else inner) + "␣" * after


def _seen(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    import unicodedata

    joins = character in "\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16}"  # they belong to an emoji
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"} and not joins
    return f"⟨U+{code:04X}⟩" if hidden else character
