"""Style sheet of a run's report: light and dark by the reader's setting, from 390 px on."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1d20; --soft: #5d6570; --line: #d9dde2; --panel: #f5f6f8;
  --link: #0b5cad; --bar: #d5e6f4; --lost: #ffd9d2; --lost-ink: #7d1500; --put: #cfeed8; --put-ink: #0a4a23;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "Noto Sans CJK SC",
  monospace; }
@media (prefers-color-scheme: dark) { :root { --page: #15171a; --ink: #e4e6e9; --soft: #9aa3ad; --line: #343a41;
  --panel: #1f2327; --link: #7db8f0; --bar: #1f4059; --lost: #5e1f14; --lost-ink: #ffd2c8; --put: #174a2b;
  --put-ink: #cdf3d8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 78rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; margin: 3rem 0 .8rem; padding-top: 1rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
h4 { font-size: .95rem; margin: 1rem 0 .3rem; overflow-wrap: anywhere; }
h5 { font-size: .75rem; font-weight: 600; margin: 0 0 .2rem; color: var(--soft); letter-spacing: .04em; }
p { margin: .5rem 0; max-width: 48rem; overflow-wrap: anywhere; }
a { color: var(--link); }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: 1rem 0; }
small, .hint { color: var(--soft); font-size: .84em; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; margin: .6rem 0; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .32rem .7rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top;
  white-space: nowrap; }
thead th { font-weight: 600; color: var(--soft); vertical-align: bottom; border-bottom: 2px solid var(--line); }
tbody th { text-align: left; font-weight: 600; }
.results .system { text-align: left; position: sticky; left: 0; background: var(--page); max-width: 22rem;
  overflow-wrap: anywhere; white-space: normal; min-width: 14rem; z-index: 1; }
.results small { display: block; font-weight: 400; line-height: 1.3; }
.results thead th { white-space: normal; }
.results thead th:first-child { text-align: left; }
tr.begins > * { border-top: 2px solid var(--line); }
td.reason { text-align: left; white-space: normal; color: var(--soft); }
td.reason span { display: inline-block; max-width: 44rem; overflow-wrap: anywhere; }
.none { color: var(--soft); }
td.bar { background: linear-gradient(to right, var(--bar) var(--share), transparent var(--share)); }
.probes td, .probes th { text-align: left; white-space: normal; min-width: 9rem; max-width: 30rem; }
.probes { width: 100%; }
.probes small { display: block; }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: 6px; padding: 0 .9rem; }
summary { cursor: pointer; padding: .5rem 0; overflow-wrap: anywhere; }
details[open] { padding-bottom: .7rem; }
figure { margin: 1rem 0; overflow-x: auto; max-width: 64rem; }
figure img { display: block; width: 100%; min-width: 34rem; height: auto; border-radius: 6px; background: #fff; }
figcaption { font-size: .84rem; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .6rem 0; font-size: .9rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
pre { font: .82rem/1.5 var(--mono); background: var(--panel); padding: .7rem .9rem; border-radius: 6px; margin: .6rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.warn { color: var(--lost-ink); background: var(--lost); border-radius: 3px; padding: 0 .35em; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.sides > div { min-width: 0; }
.text { unicode-bidi: plaintext; white-space: pre-wrap; overflow-wrap: anywhere; }
.sides .text { font: .8rem/1.6 var(--mono); background: var(--panel); border-radius: 6px; padding: .6rem .8rem;
  max-height: 26rem; overflow-y: auto; }
del, ins { text-decoration: none; border-radius: 2px; padding: 0 1px; }
del { background: var(--lost); color: var(--lost-ink); border-bottom: 1px dotted; }
ins { background: var(--put); color: var(--put-ink); border-bottom: 2px solid; }
.gap { display: inline-block; width: 2px; height: 1.05em; vertical-align: text-bottom; background: var(--soft);
  margin: 0 1px; }
.fold { color: var(--soft); font-style: italic; font-size: .92em; }
.code { font-size: .72em; border: 1px solid var(--soft); border-radius: 3px; padding: 0 .2em; white-space: nowrap;
  unicode-bidi: isolate; direction: ltr; }
.sp { position: relative; }
.sp::before { content: "·"; position: absolute; left: 0; right: 0; text-align: center; }
.nl::before { content: "↵"; }
.tab::before { content: "⇥"; }
.heats { display: flex; flex-wrap: wrap; gap: .4rem 2rem; }
.heat { min-width: 0; max-width: 100%; }
.heat td { text-align: center; border: 2px solid var(--page); padding: .4rem .6rem; min-width: 3.2rem; }
.heat th { font-weight: 400; color: var(--soft); border: 0; text-align: right; padding: .3rem .5rem; }
.heat .corner { font-size: .72rem; }
@media (max-width: 700px) {
  body { padding: 1.2rem .9rem 3rem; font-size: 15px; }
  h1 { font-size: 1.4rem; }
  .sides { grid-template-columns: 1fr; gap: .5rem; }
  details { padding: 0 .6rem; }
  .results .system { max-width: 8.5rem; min-width: 7rem; }
  th, td { padding: .3rem .5rem; }
}
@media print { details { border: 0; } .sides .text { max-height: none; } }
"""
