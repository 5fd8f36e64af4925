"""Random damage to files: to bytes anywhere, and to the entries of JSON."""

import copy
import json
import random
from typing import Any

NUMBERS = [0, 1, -1, 2, 3.5, 10**6, float("nan")]
ANYTHING = [None, True, False, "", "abc", [], [1], ["a", "b"], {}, {"type": "Nothing"}, {"a": 1}, *NUMBERS]


def damaged(content: bytes, r: random.Random) -> bytes:
    """Other bytes: flipped, overwritten, lost, added, moved or repeated ones."""
    data, n = bytearray(content), len(content)
    i, j = sorted((r.randrange(n), r.randrange(n)))
    size = r.choice([1, 1, 2, 8, 64])
    kind = r.randrange(9)
    if kind == 0:
        data[i] ^= 1 << r.randrange(8)
    elif kind == 1:
        data[i : i + size] = r.randbytes(len(data[i : i + size]))
    elif kind == 2:
        data[i : i + size] = bytes(len(data[i : i + size]))
    elif kind == 3:
        del data[i : i + size]
    elif kind == 4:
        data[i:i] = r.randbytes(size)
    elif kind == 5:
        del data[i:]
    elif kind == 6:
        data += r.choice([b"\0", b"\n", r.randbytes(size)])
    elif kind == 7:
        data[i : i + size], data[j : j + size] = data[j : j + size], data[i : i + size]
    else:
        k = r.randrange(n)
        data[k] = ord(r.choice("0123456789abcdef,:{}[]\"'eE-. "))
    return damaged(content, r) if bytes(data) == content else bytes(data)


def edited(parsed: Any, r: random.Random) -> Any:
    """Other JSON: an entry that is lost, new, renamed, or of another kind or value."""
    other = copy.deepcopy(parsed)
    places = list(_places(other))
    for _ in range(r.choice([1, 1, 1, 2, 4])):
        container, key = r.choice(places)
        if isinstance(container, dict) and key in container and r.random() < 0.4:
            value = container.pop(key)
            if r.random() < 0.3:
                container[f"{key}_"] = value
        elif isinstance(container, dict) or key < len(container):
            container[key] = r.choice(ANYTHING)
    same = json.dumps(other, sort_keys=True) == json.dumps(parsed, sort_keys=True)
    return edited(parsed, r) if same else other


def _places(part: Any) -> Any:
    entries = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in entries:
        yield part, key
        yield from _places(value)
