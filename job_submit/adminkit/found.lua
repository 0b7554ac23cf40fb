-- What a decision has come to so far. One table serves every decision, one after the other, and so do its lists: garbage is
-- what makes the slowest calls slow.
local found = {}

local LISTS = { fired = {}, refused = {}, amended = {}, warned = {}, log = {} }

-- fired, refused, amended, warned and log are lists, false until there is something in them. `queue`: where routing sends the
-- job; `misfit`: the refusal names the queue that fits; `asks_fit`: {fit} stands in a line; `code`: Slurm's error. `blind` is
-- a rule that could not be judged, `more_blind` all of them by name where there are several, `blind_before` one from before
-- the last amendment.
local results = {
    fired = false, refused = false, amended = false, warned = false, log = false, queue = false, misfit = false,
    asks_fit = false, code = false, blind = false, more_blind = false, blind_before = false,
}

local broken, count = {}, 0 -- rules, as a list and as a set

-- Nothing else is set without one of these.
local function is_empty(now)
    return not (now.fired or now.warned or now.log or now.blind)
end
found.is_empty = is_empty

-- From the end: a list with a gap has no length that one could rely on.
local function emptied(list)
    for i = #list, 1, -1 do
        list[i] = nil
    end
    return false
end

-- Results with nothing in them.
function found.begin()
    local now = results
    if is_empty(now) then
        return now
    end
    if now.fired then
        now.fired = emptied(now.fired)
        now.refused = now.refused and emptied(now.refused)
        now.amended = now.amended and emptied(now.amended)
        now.queue, now.misfit, now.asks_fit, now.code = false, false, false, false
        if count > 0 then
            for i = 1, count do
                broken[broken[i]] = nil
                broken[i] = nil
            end
            count = 0
        end
    end
    now.warned = now.warned and emptied(now.warned)
    now.log = now.log and emptied(now.log)
    if now.blind then
        now.blind, now.more_blind, now.blind_before = false, false, false
    end
    return now
end

-- Whether this rule is broken for the first time in this decision.
function found.is_new(rule)
    if broken[rule] then
        return false
    end
    count = count + 1
    broken[count], broken[rule] = rule, true
    return true
end

-- The list of that name, to add to.
local function lines(now, name)
    local there = now[name]
    if not there then
        there = LISTS[name]
        now[name] = there
    end
    return there
end
found.lines = lines

function found.log(now, line)
    local list = lines(now, "log")
    list[#list + 1] = line
end

local entries = {} -- of lists of what fired, by action and name
local words = {} -- what slurmctld.log says of an entry

function found.fire(now, name, action)
    local of_action = entries[action]
    if not of_action then
        of_action = {}
        entries[action] = of_action
    end
    local entry = of_action[name]
    if not entry then
        entry = { rule = name, action = action }
        of_action[name], words[entry] = entry, " " .. name .. "=" .. action
    end
    local list = now.fired
    if list then
        list[#list + 1] = entry
    else
        list = LISTS.fired
        list[1], now.fired = entry, list
    end
end

-- What fired, for slurmctld.log.
function found.said(fired)
    local line = words[fired[1]]
    for i = 2, #fired do
        line = line .. words[fired[i]]
    end
    return line
end

return found
