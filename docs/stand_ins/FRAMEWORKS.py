# The campaign, client and strategy of the pages of docs/api.
import re
from pathlib import Path

import gplens

for page in ("baybe", "ax", "bofire"):
    text = (Path(gplens.__file__).parents[2] / "docs" / "api" / f"{page}.md").read_text()
    for source in re.findall(r"```\{run\}\n(?::\w+:[^\n]*\n)*(.*?)```", text, flags=re.DOTALL):
        exec(source, globals())
