"""Check the external links of the pages; run by `make links`.

A link that its host answers with 404 or 410 is an error, and so is a link to a missing file of this
repository. Hosts that cannot be reached, or that reject scripts, are listed as not checked.
"""

import http.client
import re
import sys
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN = "https://github.com/meanshiftpp/meanshiftpp/"
SITE = "https://meanshiftpp.github.io/meanshiftpp/"
PLACES = ["*.md", "*.cff", "docs/*.md", "examples/*", ".github/ISSUE_TEMPLATE/*"]
LINK = re.compile(r"https?://[\w.-]+\.[a-z]+[^\s<>()\"'`\\$}]*")


def links() -> dict[str, str]:
    """Return the links, each with the first file that has it."""
    found: dict[str, str] = {}
    for path in sorted(path for place in PLACES for path in ROOT.glob(place) if path.is_file()):
        for link in LINK.findall(path.read_text("utf-8")):
            found.setdefault(link.rstrip(".,;:").partition("#")[0], str(path.relative_to(ROOT)))
    return found


def check(link: str) -> str:
    """Return "ok", "broken" or the reason why a link was not checked."""
    file = re.sub(re.escape(SITE) + r"(\w+)\.html", rf"{OWN}blob/main/docs/\1.md", link)
    if file.startswith(OWN + "blob/main/"):
        return "ok" if (ROOT / file.removeprefix(OWN + "blob/main/")).exists() else "broken"
    if link.startswith(OWN):
        return "made by the host of this repository"
    request = urllib.request.Request(link, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        with urllib.request.urlopen(request, timeout=20):
            return "ok"
    except urllib.error.HTTPError as error:
        return "broken" if error.code in (404, 410) else f"status {error.code}"
    except (OSError, http.client.HTTPException) as error:
        return f"unreachable: {error}"


def main() -> int:
    """Print the links that are broken or not checked; return 1 if one is broken."""
    places = links()
    with ThreadPoolExecutor(8) as pool:
        results = dict(zip(places, pool.map(check, places), strict=True))
    for link, result in results.items():
        if result != "ok":
            print(f"{result}: {link} in {places[link]}")
    counts = Counter(results.values())
    ok, broken = counts["ok"], counts["broken"]
    print(f"{ok} links ok, {broken} broken, {len(results) - ok - broken} not checked")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
