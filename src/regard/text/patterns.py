"""Where text may be cut: one set of rules for tokenizers, spans and detokenization.

Letters never share a run with punctuation. That also keeps the special pieces safe: `<end>` in a text is three runs,
so no tokenizer can learn it, or read it, as one piece.
"""

import re

# Scripts written without spaces between words: Han, kana, and their iteration marks and half-width forms.
CJK = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
CJK += "\uff66-\uff9f\U00020000-\U0003ffff"

# Punctuation and full-width forms that need no space beside them either; the ideographic space is none of them.
CJK_MARKS = "\u3001-\u303f\uff01-\uff65"

_LETTER = rf"[\p{{L}}\p{{M}}&&[^{CJK}]]"
_INNER = rf"[\p{{L}}\p{{M}}\p{{N}}_&&[^{CJK}]]"

# Runs of one class, each taking one space before it: the words that pieces are learned in.
RUN = rf"[{CJK}]+| ?{_LETTER}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+|\s+(?!\S)|\s+"

# Whole words: one CJK character; letters with points between (U.S., z.B.); letters and digits with apostrophes and
# hyphens inside, points and commas inside numbers, and perhaps a hyphen at the end; or one character of another sort.
_DOTTED = rf"(?<!{_INNER}){_LETTER}(?:\.{_LETTER})+\.?(?!{_INNER})"
_PLAIN = rf"{_INNER}+(?:['’\-]{_INNER}+|(?<=\p{{N}})[.,](?=\p{{N}}){_INNER}+)*(?:-(?=[\s,]))?"
WORD = rf"[{CJK}]|{_DOTTED}|{_PLAIN}|\S"

_starts_cjk = re.compile(f"[{CJK}{CJK_MARKS}]")


def starts_cjk(text: str) -> bool:
    """Whether the first character is of a script that puts no space before it.

    >>> starts_cjk("北京"), starts_cjk("Peking"), starts_cjk("")
    (True, False, False)
    """
    return _starts_cjk.match(text) is not None
