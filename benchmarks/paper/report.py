"""The report: sections of text, tables and figures, as HTML in one file and as Markdown.

Each column of a table is either measured here or quoted from the paper; headings and colours
distinguish the two.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

HERE, PAPER = "measured here", "from the paper"


@dataclass
class Table:
    """Rows of text, possibly with **bold**. `paper` lists the columns quoted from the paper."""

    title: str
    header: list[str]
    rows: list[list[str]]
    paper: list[int] = field(default_factory=list)
    text_columns: int = 1  # number of columns at the left that are aligned as text


@dataclass
class Figure:
    """A picture in the folder of the report."""

    file: str
    caption: str


@dataclass
class Section:
    """A section of the report."""

    name: str
    title: str
    paper: str  # summary of the paper's result
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    missing: str = ""  # why the section was not run

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Section:
        tables = [Table(**table) for table in facts["tables"]]
        figures = [Figure(**figure) for figure in facts["figures"]]
        return cls(**{**facts, "tables": tables, "figures": figures})


@dataclass
class Report:
    """All sections, facts about the machine, and remarks about the run."""

    sections: list[Section]
    machine: dict[str, str]
    remarks: list[str]


TITLE = "MeanShift++: the paper's experiments, repeated"
SOURCE = (
    "Jennifer Jang and Heinrich Jiang: MeanShift++: Extremely Fast Mode-Seeking With Applications "
    "to Segmentation and Object Tracking. CVPR 2021."
)


# -- Markdown --------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    lines = [f"# {TITLE}", "", SOURCE, "", *(f"- {remark}" for remark in report.remarks)]
    for section in report.sections:
        lines += ["", f"## {section.title}", "", f"**The paper:** {section.paper}"]
        if section.missing:
            lines += ["", f"**Not run:** {section.missing}"]
        for figure in section.figures:
            lines += ["", f"![{figure.caption}]({figure.file})", "", f"*{figure.caption}*"]
        for table in section.tables:
            lines += ["", f"**{table.title}**", "", *markdown_table(table)]
        lines += ["", *(f"- {note}" for note in section.notes)]
    lines += ["", "## Machine", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in report.machine.items()]
    return "\n".join(lines) + "\n"


def markdown_table(table: Table) -> list[str]:
    header = [f"paper: {h}" if k in table.paper else h for k, h in enumerate(table.header)]
    alignment = ["---" if k < table.text_columns else "---:" for k in range(len(header))]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
    return [f"| {' | '.join(cells)} |" for cells in (header, alignment, *rows)]


# -- HTML ------------------------------------------------------------------------------------------


def html(report: Report, folder: Path) -> str:
    """Return the page; pictures are read from the folder and embedded."""
    links = "".join(f'<a href="#{s.name}">{escape(s.title)}</a>' for s in report.sections)
    parts = [f"<h1>{escape(TITLE)}</h1>", f'<p class="source">{escape(SOURCE)}</p>']
    parts += [f'<ul class="facts">{_items(report.remarks)}</ul>']
    parts += [f'<p class="legend"><i class="here"></i>{HERE}<i class="paper"></i>{PAPER}</p>']
    parts += [f"<nav>{links}</nav>"]
    parts += [_section(section, folder) for section in report.sections]
    rows = "".join(
        f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in report.machine.items()
    )
    parts += [f'<section><h2>Machine</h2><table class="plain">{rows}</table></section>']
    head = f'<meta charset="utf-8"><title>{escape(TITLE)}</title><style>{CSS}</style>'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _section(section: Section, folder: Path) -> str:
    parts = [f'<section id="{section.name}"><h2>{escape(section.title)}</h2>']
    parts.append(f'<p class="quote"><b>{PAPER}</b> {_inline(section.paper)}</p>')
    if section.missing:
        parts.append(f'<p class="missing"><b>not run</b> {_inline(section.missing)}</p>')
    for figure in section.figures:
        data = b64encode((folder / figure.file).read_bytes()).decode("ascii")
        kind = "jpeg" if figure.file.endswith(".jpg") else "png"
        image = f'<img alt="{escape(figure.caption)}" src="data:image/{kind};base64,{data}">'
        caption = f"<figcaption>{_inline(figure.caption)}</figcaption>"
        parts.append(f"<figure>{image}{caption}</figure>")
    parts += [_table(table) for table in section.tables]
    if section.notes:
        parts.append(f"<ul>{_items(section.notes)}</ul>")
    return "\n".join([*parts, "</section>"])


def _table(table: Table) -> str:
    def cells(row: list[str], tag: str) -> str:
        return "".join(f"<{tag}{_class(table, k)}>{_inline(c)}</{tag}>" for k, c in enumerate(row))

    groups = _groups(table) if table.paper else ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in table.rows)
    head = f"<thead>{groups}<tr>{cells(table.header, 'th')}</tr></thead>"
    return (
        f'<h3>{_inline(table.title)}</h3><div class="wide"><table>{head}'
        f"<tbody>{body}</tbody></table></div>"
    )


def _groups(table: Table) -> str:
    """Return a heading row that groups columns by their source."""
    groups: list[list[Any]] = []
    for k in range(len(table.header)):
        source = "" if k < table.text_columns else PAPER if k in table.paper else HERE
        if groups and groups[-1][0] == source:
            groups[-1][1] += 1
        else:
            groups.append([source, 1])
    kinds = {HERE: "here", PAPER: "paper", "": ""}
    cells = (f'<th colspan="{n}" class="group {kinds[text]}">{text}</th>' for text, n in groups)
    return f"<tr>{''.join(cells)}</tr>"


def _class(table: Table, column: int) -> str:
    names = ["text"] * (column < table.text_columns) + ["paper"] * (column in table.paper)
    return f' class="{" ".join(names)}"' if names else ""


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{_inline(text)}</li>" for text in texts)


def _inline(text: str) -> str:
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text, quote=False))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)


CSS = """
:root { --ink: #22252a; --soft: #666c75; --line: #e4e4df; --page: #fcfcfa; --here: #0072b2;
  --paper: #b26a00; --tint: #fdf5e6 }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2.5rem 1.5rem 5rem; max-width: 76rem; background: var(--page);
  color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem }
h2 { font-size: 1.4rem; margin: 0 0 .8rem }
h3 { font-size: 1rem; margin: 1.6rem 0 .5rem }
.source { color: var(--soft); margin: 0 0 1rem }
.facts { margin: 0 0 1rem; padding-left: 1.2rem }
.legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px;
  margin: 0 .4rem 0 0 }
.legend i.paper { margin-left: 1.4rem; background: var(--paper) }
.legend i.here { background: var(--here) }
nav { display: flex; flex-wrap: wrap; gap: .4rem; margin: 0 0 1rem }
nav a { border: 1px solid var(--line); border-radius: 99px; padding: .15rem .8rem;
  text-decoration: none; color: var(--here); font-size: .88rem; background: #fff }
section { border-top: 1px solid var(--line); padding-top: 1.8rem; margin-top: 2.4rem }
.quote, .missing { border-left: 4px solid var(--paper); background: var(--tint);
  padding: .6rem .9rem; margin: 0 0 1.2rem }
.quote b, .missing b { display: block; font-size: .75rem; letter-spacing: .04em;
  text-transform: uppercase; color: var(--paper) }
.missing { border-color: #a33; background: #fbeeee } .missing b { color: #a33 }
figure { margin: 1rem 0 1.4rem } img { max-width: 100%; height: auto; display: block }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .3rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums }
th, td { padding: .28rem .6rem; text-align: right; white-space: nowrap; vertical-align: top }
thead th { border-bottom: 2px solid var(--line); color: var(--soft); font-weight: 600 }
tbody td { border-bottom: 1px solid var(--line) }
tbody tr:hover td { background: #eef5fa }
.text { text-align: left } td.paper, th.paper { background: var(--tint) }
.group { border: 0; text-align: center; font-size: .72rem; text-transform: uppercase;
  letter-spacing: .04em } .group.here { color: var(--here) } .group.paper { color: var(--paper) }
.plain td { text-align: left; white-space: normal } .plain td:first-child { color: var(--soft) }
li { margin: .2rem 0 } code { font-size: .9em; background: #f1f1ec; padding: 0 .25em;
  border-radius: 3px }
"""
