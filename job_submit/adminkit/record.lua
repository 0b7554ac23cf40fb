-- The record of a submission, `ak1:lim=259200,src=e,rules=gq-max`: what was asked for before the policy touched it.
local need = ...
local text = need("text")

local record = {}

local huge = math.huge
local find, gmatch, gsub, match = string.find, string.gmatch, string.gsub, string.match

local LIMIT = "^%d+$"
local RULES = ",rules="
local PAID = text.kept(function(class)
    return ",cls=" .. class
end)

local function seconds_of(key)
    return text.kept(function(seconds)
        return key .. text.whole(seconds)
    end)
end

local MIN, KEEP, SOFT = seconds_of(",min="), seconds_of(",keep="), seconds_of(",soft=")

-- Slurm refuses a job whose comment is longer, and looks after the script has run.
local MOST_BYTES = 1024

-- What may stand behind the source, in this order: docs/comment-words.md.
local MORE = { "cls", "own", "min", "keep", "soft", "el", "ext", "rules" }

-- The first word of `field` as { lim, src, rules = {…}, cls, own, min, keep, soft, el, ext }. nil unless all of it is a record.
function record.read(field)
    local lim, src, rest = match(field or "", "^ak1:lim=(%w+),src=([ed])([^ ]*)")
    if not lim or (src == "d") ~= (lim == "none") or (lim ~= "none" and lim ~= "inf" and not find(lim, LIMIT)) then
        return nil
    end
    local seen = {}
    for i = 1, #MORE do
        local value, after = match(rest, "^," .. MORE[i] .. "=([A-Za-z0-9_.+-]+)(.*)$")
        if value then
            seen[MORE[i]], rest = value, after
        end
    end
    if rest ~= "" then
        return nil
    end
    local rules = {}
    for name in gmatch(seen.rules or "", "[^+]+") do
        rules[#rules + 1] = name
    end
    seen.lim, seen.src, seen.rules = lim, src, rules
    return seen
end

local finite = text.kept(function(limit)
    return "ak1:lim=" .. text.whole(limit) .. ",src=e"
end)

-- A rule's name with nothing in it that the grammar does not have.
local safe = text.kept(function(name)
    return (gsub(name, "[^%w_.-]", "_"))
end)

local function with_rules(line, names)
    if #line + #RULES + #names <= MOST_BYTES then
        return line .. RULES .. names
    end
    return line
end

-- By the rule that fired, where there is one, and the line without it.
local with_one = text.kept(function(name)
    return text.kept(function(line)
        return with_rules(line, safe[name])
    end)
end)

-- What stands between the source and the rules. `paid` is the class that points were given for, `whole` whether the job takes
-- whole nodes, `typed` the user's own --time-min, and `planned` what backfill plans with in place of the limit, both in
-- seconds: the typed one with `is_kept`, else the policy's. `elastic`: the range of GPUs that the job opted in to; `extended`:
-- whether it may get more time.
function record.keys(paid, whole, typed, planned, is_kept, elastic, extended)
    local keys = paid and PAID[paid] or ""
    if whole then
        keys = keys .. ",own=node"
    end
    if typed and typed < huge then
        keys = keys .. MIN[typed]
    end
    if planned then
        keys = keys .. (is_kept and KEEP or SOFT)[planned]
    end
    if elastic then
        keys = keys .. ",el=" .. elastic
    end
    if extended then
        keys = keys .. ",ext=auto"
    end
    return keys
end

-- The new text of the field: the record with these keys, then `before` (what stood there) after one blank. `fired` is the
-- decision's. nil where there is no room for both.
function record.write(limit, limit_kind, fired, before, keys)
    local line
    if limit_kind == "unset" then
        line = "ak1:lim=none,src=d"
    elseif limit_kind == "unlimited" then
        line = "ak1:lim=inf,src=e"
    else
        line = finite[limit]
    end
    line = line .. keys
    local first = fired[1]
    if first then
        if not fired[2] then
            line = with_one[first.rule][line]
        else
            local names = safe[first.rule]
            for i = 2, #fired do
                names = names .. "+" .. safe[fired[i].rule]
            end
            line = with_rules(line, names)
        end
    end
    if before and before ~= "" then
        return #line + 1 + #before <= MOST_BYTES and line .. " " .. before or nil
    end
    return line
end

-- Whether a record names the class that points are given for, whole nodes and every rule that fires.
function record.agrees(earlier, fired, paid, whole)
    local named = {}
    for i = 1, #earlier.rules do
        named[earlier.rules[i]] = true
    end
    for i = 1, #fired do
        if not named[safe[fired[i].rule]] then
            return false
        end
    end
    return earlier.cls == (paid or nil) and (earlier.own == "node") == (whole == true)
end

-- Whether a record that came with the job can be ours: `comment` and `extra` can be typed by anyone. A job whose limit
-- is not the recorded one must have been changed by a rule we know, and no change may make the job look better than the
-- policy can: lower than now only where a rule raises or gives limits.
function record.plausible(earlier, limit, limit_kind, known)
    local now = limit_kind == "finite" and text.whole(limit) or (limit_kind == "unlimited" and "inf" or "none")
    local gives, raises = false, false
    for i = 1, #earlier.rules do
        local check = known[earlier.rules[i]]
        if not check then
            return false
        end
        gives = gives or check == "default_limit" or check == "max_limit" or check == "restartable_above"
        raises = raises or check == "min_limit"
    end
    if earlier.lim == now then
        return true
    end
    if earlier.lim == "none" then
        return gives
    end
    if earlier.lim == "inf" then
        return true
    end
    if now == "inf" or now == "none" then
        return false
    end
    return tonumber(earlier.lim) > limit or raises
end

return record
