"""How pages look: light, dark, on a phone, in print."""

from __future__ import annotations

from typing import Final

#: The style of every page.
CSS: Final = """
:root { color-scheme: light dark; --ink: #1f2328; --muted: #646b73; --grid: #e3e5e8; --paper: #ffffff;
  --ran: #0072b2; --asked: #d55e00; --fill: #cfe3f1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --muted: #9aa3ad; --grid: #33383f; --paper: #16191d;
  --ran: #56b4e9; --asked: #e69f00; --fill: #23475c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1.2rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2rem 0 .3rem; }
.finding { font-size: 1.15rem; margin: 0 0 1rem; color: var(--muted); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; font-size: .88rem; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .3rem .5rem; text-align: left; border-bottom: 1px solid var(--grid); }
th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
th.n, td.n { text-align: right; }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 13rem; max-width: 24rem; }
td:first-child, th:first-child { position: sticky; left: 0; background: var(--paper); }
tfoot td { font-weight: 600; } tfoot tr:first-child td { border-top: 2px solid var(--muted); }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.4rem; }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figcaption b { display: block; } figcaption { font-size: .9rem; color: var(--muted); }
figcaption b { color: var(--ink); }
svg { width: 100%; height: auto; max-width: 34rem; display: block; }
svg text { font-family: system-ui, "DejaVu Sans", sans-serif !important; }
.caption { font-size: .85rem; color: var(--muted); max-width: 50rem; }
@media print { :root { --ink: #000; --muted: #444; --grid: #ccc; --paper: #fff; --ran: #0072b2; --asked: #d55e00;
  --fill: #cfe3f1; } body { max-width: none; padding: 0; } .scroll { overflow: visible; }
  .panels { grid-template-columns: 1fr 1fr; }
  table { font-size: .55rem; } th, td { padding: .15rem .25rem; } }
"""
#: What the page of all reports has besides.
DOCUMENT_CSS: Final = """
html { scroll-padding-top: .5rem; }
body { overflow-wrap: break-word; line-height: 1.55; font-family: system-ui, "DejaVu Sans", "Noto Sans CJK JP",
  "Hiragino Sans", sans-serif; }
a { color: var(--ran); }
a:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 2px solid var(--asked); outline-offset: 2px; }
h2 { border-top: 1px solid var(--grid); margin-top: 2.4rem; padding-top: 1rem; break-after: avoid; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; break-after: avoid; }
nav { margin: 1.2rem 0; font-size: .92rem; }
nav ol { columns: 14rem; column-gap: 2rem; margin: .3rem 0 0; padding-left: 1.6rem; }
nav li { break-inside: avoid; padding: .1rem 0; }
.question { color: var(--muted); margin: 0 0 .6rem; break-after: avoid; }
.answer { font-size: 1.1rem; margin: 0 0 .6rem; break-after: avoid; }
.note { font-size: .85rem; color: var(--muted); max-width: 60rem; }
.remarks { list-style: none; margin: .6rem 0; padding: 0; }
.remarks > li { border-left: 4px solid var(--asked); padding: .15rem 0 .15rem .8rem; margin: 0 0 .9rem;
  break-inside: avoid; max-width: 60rem; }
.remarks.good > li { border-color: var(--ran); }
.remarks b { display: block; }
.remarks span { display: block; font-size: .92rem; }
.remarks .stake { color: var(--muted); }
code { font: .86rem ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.remarks code { display: inline-block; background: var(--fill); padding: .1rem .4rem; border-radius: .2rem; }
.bad { border-left: 4px solid var(--asked); padding-left: .8rem; }
details { margin: .6rem 0; }
summary { cursor: pointer; font-size: .88rem; color: var(--ran); width: fit-content; max-width: 100%; }
details .scroll { margin: .5rem 0; }
details dl { margin-top: .5rem; }
figure details { max-width: 34rem; }
caption { text-align: left; color: var(--muted); font-size: .84rem; padding-bottom: .3rem; }
footer { margin-top: 2.4rem; border-top: 1px solid var(--grid); padding-top: .6rem; }
@media (max-width: 40rem) { body { padding: .8rem; } dl { grid-template-columns: 1fr; } dd { margin-bottom: .3rem; } }
@media print { body { background: #fff; color: #000; } nav { break-after: avoid; } a { color: inherit;
  text-decoration: none; } details:not([open]) { display: none; } section { break-inside: auto; }
  p, li { orphans: 3; widows: 3; } thead { display: table-header-group; } tr { break-inside: avoid; } }
@page { margin: 14mm; }
"""
