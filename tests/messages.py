"""Patterns for error messages: the numbers and names that a message must contain, whatever its wording."""

import re


def naming(*parts: object) -> str:
    """A pattern for `pytest.raises(match=...)`: every part is somewhere in the message, as a word, in any order.

    A float may be printed in any of the usual ways: 1e-11 or 1.0e-11, 4.0 or 4.
    """
    return "(?s)" + "".join(rf"(?=.*(?<!\w)(?<!\d\.)(?:{_alternatives(part)})(?!\w|\.\d))" for part in parts)


def _alternatives(part: object) -> str:
    texts = {str(part)}
    if isinstance(part, float):
        exponents = {f"{part:.0e}", f"{part:.1e}"}
        texts |= {f"{part:g}"} | exponents | {re.sub(r"e([+-])0", r"e\1", text) for text in exponents}
    return "|".join(re.escape(text) for text in sorted(texts))
