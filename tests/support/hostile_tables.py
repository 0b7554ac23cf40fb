"""Tables of an attacker who wants to run a program in slurmctld, or to stop it; and a hundred random ones."""

from __future__ import annotations

import random
from typing import Final

from adminkit.lua.literal import module

#: What a whole table of points begins with; each part of the table is checked and this one is good.
HEAD: Final = 'return { ["format"] = 1, ["generation"] = "evil", ["made_at"] = 1, ["cap"] = 0, ["users"] = {},'

START: Final = f'{HEAD} ["z"] ='

#: (what it would do, the text of incentives.lua)
TABLES: Final[tuple[tuple[str, str], ...]] = (
    ("run for ever", "while true do end"),
    ("run for ever in a table", f"{START} (function() while true do end end)() }}"),
    ("run for ever in a pattern", 'return ("a"):rep(40):find((".-"):rep(30).."b")'),
    ("run for ever by a goto", "::a:: goto a"),
    ("fill the memory", 'local s=("x"):rep(2^20) local t={} for i=1,1e9 do t[i]=s..i end'),
    ("fill the memory with one text", f'{START} ("x"):rep(1e10) }}'),
    ("overflow the stack of C", 'return ("a"):rep(2e6):find((".-"):rep(2e5).."b")'),
    ("overflow a stack of 1 MB", f'{START} (("").pack == nil) and ("a"):rep(9):find((".-"):rep(30000)) }}'),
    ("toss a coin in Lua 5.4", f'{START} ("%p"):format({{}}) }}'),
    ("nest tables", f"{START} " + "{" * 100_000 + "}" * 100_000 + " }"),
    ("nest tables and leave them open", f"{START} " + "{" * 1_000_000),
    ("nest tables as keys", f"{HEAD} " + "[{" * 10_000 + "}] = 1" * 10_000 + " }"),
    ("nest brackets", f"{START} " + "(" * 100_000 + "1" + ")" * 100_000 + " }"),
    ("nest functions", "return " + "function() return " * 10_000 + "1" + " end" * 10_000),
    ("nest signs", f"{START} " + "- " * 100_000 + "1 }"),
    ("join texts without end", f"{START} " + '"a" .. ' * 100_000 + '"b" }'),
    ("be many tables", f"{START} {{" + "{}," * 400_000 + "} }"),
    ("be many values", f"{START} {{" + "1," * 2_000_000 + "} }"),
    ("be large", f"{START} {{" + '"' + "x" * 17_000_000 + '"} }'),
    ("be one endless line of comment", "-- " + "x" * 17_000_000),
    ("call a function", "return os.exit(1)"),
    ("call a function without brackets", 'return f"x"'),
    ("call a method of a text", 'return ("x"):rep(3)'),
    ("call what a text has by a field", f'{START} ("").rep }}'),
    ("read a global", f"{START} x }}"),
    ("write a global", "x = 1 return {}"),
    ("return more than one value", f"{HEAD} }}, 1"),
    ("go on behind the table", f"{HEAD} }} local x = 1"),
    ("hide a program behind the end of a comment", f"-- x\rlocal x = 1\n{HEAD} }}"),
    ("hide a program in a long comment", f"--[[ x\n]] local x = 1 --[[\n{HEAD} }} -- ]]"),
    ("hide a program behind a second comment", f"{HEAD} -- x\n}}"),
    ("end a text by a backslash", f'{HEAD} ["a\\"] = ("x"):rep(9), ["b"] = "\\" }}'),
    ("end a text by a backslash and a number", f'{HEAD} ["a\\0"] = 1, ["\\"] = f, ["\\"] = 1 }}'),
    ("write a text in long brackets", f"{START} [[x]] }}"),
    ("write a text in single quotes", f"{START} 'x' }}"),
    ("have names for keys", f"{HEAD} z = 1 }}"),
    ("compute", f"{START} 1 + 1 }}"),
    ("compute without a blank", f"{START} 1-1 }}"),
    ("compute a length", f'{START} #"x" }}'),
    ("compare", f"{START} 1 == 1 }}"),
    ("be bytecode", "\x1bLua\x51\x00"),
    ("hold a byte of ours", f"{START} \x01 }}"),
    ("hold a zero", f'{START} "\0" }}'),
    ("hold a byte above 127", f'{START} "\xff" }}'),
    ("hold a number without end", f'{HEAD} ["class_points"] = {{ ["multi-node"] = 1e999 }} }}'),
    ("hold a hexadecimal number", f"{START} 0x10 }}"),
    ("hold two values without a comma", f"{START} {{ 1 2 }} }}"),
    ("hold no key that nil could be", f'{HEAD} [nil] = 1, ["z"] = 2 }}'),
    ("return no table", "return 7"),
    ("return nothing", ""),
    ("be half a table", HEAD),
)

#: Text that no generated table has outside of a string.
_SEEDS: Final = (
    *(
        " function() while true do end end ",
        '("a"):rep(1e9)',
        "(function() end)()",
        "#{}",
        "not 1",
        "nil",
        "...",
        "a.b",
    ),
    *("a[1]", "a{1}", 'a"x"', "a:b()", "[[x]]", "[==[x]==]", "--[[x]]1", "-- x\n", "1 .. 2", "1/0", "1%1", "2^9", "~1"),
    *("<", ">", "1;2", "\\065", '"\\"', '"\\z', '"\\x41"', "'x'", "\x01", "\x02", "\x03", "\x04", "\r", "\t", "\f"),
    *(
        "\x00",
        "\x7f",
        "\x80",
        "0x1p4",
        "1e",
        "1e+",
        ".5",
        "5.",
        "1..2",
        "1.2.3",
        "- 1",
        "--1",
        "_ENV",
        "goto x",
        "::x::",
    ),
    *("return 1", "{{", "}}", ",,", "[", "]", "[1]", "= 1", "true false", "nul", "inf", "nan", "\\", '"', "{" * 50),
    *("[{}] = 1", "break", "local x", "and 1", "or 1", "$", "@", "`"),
)


def generated(seed: int) -> str:
    """A table of points with one of _SEEDS in a place chosen by chance."""
    random_ = random.Random(seed)
    users = {1000 + n: {"points": random_.randrange(700), "class": random_.random() < 0.5} for n in range(5)}
    table = {"format": 1, "generation": f"evil{seed}", "made_at": 1, "cap": 720, "class_points": {}, "users": users}
    text = module(table, "a test")
    body = text.index("return {") + len("return {")
    places = [at for at in range(body, len(text)) if text[at] in " ,}" and text[:at].count('"') % 2 == 0]
    at = random_.choice(places)
    extra = random_.choice(_SEEDS)
    return f"{text[:at]} {extra} {text[at:]}"


#: Tables of plain data at the bounds of data.lua: whether they are accepted or not, they do no harm.
EXTREME: Final[tuple[tuple[str, str], ...]] = (
    ("deep", f"{START} " + "{" * 11 + "}" * 11 + " }"),
    ("many tables", f"{START} {{" + "{}," * 299_000 + "} }"),
    ("many values", f"{START} {{" + "1," * 999_000 + "} }"),
    ("many keys", f"{START} {{" + ",".join(f"[{n}.5] = {n}" for n in range(120_000)) + "} }"),
    (
        "more constants than Lua 5.1 has room for",
        f"{START} {{" + ",".join(f"[{n}.5] = {n}" for n in range(200_000)) + "} }",
    ),
    ("one long text", f'{START} "' + "x" * 16_000_000 + '" }'),
    ("one long number", f"{START} " + "9" * 16_000_000 + " }"),
    ("one long fraction", f"{START} 0." + "9" * 16_000_000 + " }"),
    ("one long exponent", f"{START} 1e" + "9" * 16_000_000 + " }"),
    ("a long comment", "-- " + "x" * 16_000_000 + f"\n{HEAD} }}"),
    ("many blanks", f"{HEAD} " + " \n" * 8_000_000 + " }"),
)

#: A hundred of them, the same in every run.
GENERATED: Final = tuple(generated(seed) for seed in range(100))
