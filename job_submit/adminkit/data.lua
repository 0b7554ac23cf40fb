-- Tables as data. A generated file is looked at here before Lua's own parser sees it: a program, however disguised, is not
-- loaded, and what is loaded can neither run for ever nor fill the memory. slurmctld's threads have a stack of 1 MB.
--
-- What passes: a line of comment, `return`, and one table of texts, numbers, true, false and tables, as lua_text.py writes it.
-- Each step replaces a kind of token by one control character, in a time that grows with the text's length. None recurses.
local data = {}

local find, gsub = string.find, string.gsub

data.MOST_BYTES = 16 * 1024 * 1024
data.MOST_TABLES = 300000
data.MOST_FIELDS = 1000000
data.DEEPEST = 12

local VALUE, TEXT, KEY, FIELD = "\1", "\2", "\3", "\4"
local OTHER = "it holds something other than texts, numbers, true, false and tables"

-- The source with one character for each text, each other value but tables, and each key with its `=`; whatever else it
-- holds stays. nil and a reason where it is too long or no source.
local function tokens(source)
    if #source > data.MOST_BYTES then
        return nil, "it is larger than " .. data.MOST_BYTES .. " bytes"
    end
    for _, token in ipairs({ VALUE, TEXT, KEY, FIELD }) do
        if find(source, token, 1, true) then
            return nil, OTHER
        end
    end
    local rest = gsub(source, "^%-%- [ -~]*\n", "", 1)
    local returns
    rest, returns = gsub(rest, "^return ", "", 1)
    if returns == 0 then
        return nil, "it does not begin with return"
    end
    if find(rest, "\\", 1, true) then
        rest = gsub(rest, "\\%d%d%d", "_") -- a byte of a text; outside of one, what no table holds
    end
    rest = gsub(rest, '"[A-Za-z0-9_.-]*"', TEXT)
    rest = gsub(rest, "[ \n]+", "")
    rest = gsub(rest, "%d+", VALUE)
    if find(rest, VALUE .. "e", 1, true) then
        rest = gsub(rest, VALUE .. "e[+-]?" .. VALUE, VALUE)
    end
    if find(rest, ".", 1, true) then
        rest = gsub(rest, VALUE .. "%." .. VALUE .. "e[+-]?" .. VALUE, VALUE)
        rest = gsub(rest, VALUE .. "%." .. VALUE, VALUE)
    end
    if find(rest, "-", 1, true) then
        rest = gsub(rest, "%-" .. VALUE, VALUE)
    end
    rest = gsub(rest, "true", VALUE)
    rest = gsub(rest, "false", VALUE)
    return (gsub(rest, "%[[" .. VALUE .. TEXT .. "]%]=", KEY))
end

-- Why a text is not a table of data; nil where it is one. The innermost tables become values, until one value is left.
function data.wrong(source)
    local rest, wrong = tokens(source)
    if not rest then
        return wrong
    end
    if find(rest, "[^{}," .. VALUE .. TEXT .. KEY .. "]") then
        return OTHER
    end
    local tables, all = 0, 0
    for _ = 1, data.DEEPEST do
        local fields, closed
        rest, fields = gsub(rest, KEY .. "?[" .. VALUE .. TEXT .. "]", FIELD)
        if find(rest, FIELD .. FIELD, 1, true) or find(rest, "[{,],") then
            return OTHER
        end
        rest, closed = gsub(rest, "{[" .. FIELD .. ",]*}", VALUE)
        tables, all = tables + closed, all + fields
        if tables > data.MOST_TABLES or all > data.MOST_FIELDS then
            return "it holds more than " .. data.MOST_TABLES .. " tables or " .. data.MOST_FIELDS .. " values"
        end
        if rest == VALUE then
            return nil
        end
        if closed == 0 then
            return OTHER
        end
    end
    return "its tables are nested more than " .. data.DEEPEST .. " deep"
end

-- What Lua says of a text, for a line of a log: it quotes the text, however long that is.
local function in_short(wrong)
    return (gsub(string.sub(string.match(tostring(wrong), "^[^\n]*"), 1, 200), "[^ -~]", "?"))
end

-- The table in a text; nil and a reason otherwise. It sees no function and no global.
function data.read(source, name)
    local wrong = data.wrong(source)
    if wrong then
        return nil, wrong
    end
    local chunk
    if setfenv then
        chunk, wrong = loadstring(source, name)
        if chunk then
            setfenv(chunk, {})
        end
    else
        chunk, wrong = load(source, name, "t", {})
    end
    if not chunk then
        return nil, in_short(wrong)
    end
    local ok, value = pcall(chunk)
    if not ok then
        return nil, in_short(value)
    end
    return value
end

return data
