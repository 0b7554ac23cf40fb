-- GPUs in Slurm's lists of generic resources, as Slurm 22.05 to 26.05 reads them. A spelling that Slurm may read in more than
-- one way has a least and a most; `huge` stands for an unknown number.
local need = ...
local text = need("text")

local gres = {}

local find, gmatch, lower, match = string.find, string.gmatch, string.lower, string.match
local trimmed = text.trimmed
local huge, max, min = math.huge, math.max, math.min

-- Slurm's suffixes of a count; `k` without digits counts 0.
local UNITS = { [""] = 1 }
for power, letter in ipairs({ "k", "m", "g", "t", "p" }) do
    UNITS[letter], UNITS[letter .. "ib"], UNITS[letter .. "b"] = 1024 ^ power, 1024 ^ power, 1000 ^ power
end

local MOST_DIGITS = 12 -- more may not fit what C counts in, and turn into another number there

-- A count as strtoull reads it: 2, +2, " 2", 2k. nil for a word that is no count; false for a count that C reads and we do not.
local function count_of(word)
    local sign, digits, unit = match(word, "^%s*([+-]?)(%d+)(%a*)$")
    if not digits then
        return word ~= "" and UNITS[lower(word)] and 0 or nil -- a suffix without a number
    end
    local factor = UNITS[lower(unit)]
    if not factor then
        return nil
    end
    if sign == "-" or #digits > MOST_DIGITS then
        return false
    end
    return tonumber(digits) * factor
end

-- How many GPUs the words behind `gpu:` ask for, and of which type; nil where Slurm may read them in several ways or not.
local function read_tail(tail)
    local kind, number = match(tail, "^([^:=]+)[:=]([^:=]*)$")
    if kind then
        return match(kind, "^[%w_.-]+$") and count_of(number) or nil, kind
    end
    local count = count_of(tail)
    if count == nil and match(tail, "^[%w_.-]+$") then
        return 1, tail
    end
    return count or nil, nil
end

-- One word of a list: how many GPUs of which type, and whether Slurm surely takes them; nil for anything else. gres:gpu:a100:2,
-- gres/gpu:2, gres:gpu (one), gres:gpu:a100 (one of them); without `gres` in front slurmctld passes over it. `slash`: this
-- Slurm reads gres/gpu:2, as 23.11 and later do; before, it passes over such a word in silence.
local function entry(item, slash)
    local sign, rest = match(item, "^%s*gres([:/])(.*)$")
    rest = rest or item
    local known = (sign == ":" and not find(rest, "=", 1, true)) or (sign == "/" and slash)
    if rest == "gpu" then
        return 1, nil, known
    end
    local tail = match(rest, "^gpu[:=](.*)$")
    if tail then
        local count, kind = read_tail(tail)
        return count or huge, kind, known
    end
    -- gpumem and license:gpu are others' names; with a blank or a second `gres` the reading is unknown.
    if match(rest, "^%s*gpu[%s(]") or match(rest, "^%s+gpu") or match(rest, "gres[:/]%s*gpu") then
        return huge, nil, false
    end
    return nil
end

local NO_GPUS = {}
local TOO_LONG = { least = 0, most = huge }
local MOST_BYTES = 1024 -- Slurm refuses a longer list, but looks at lengths after the script has run

-- Where one type has several counts the job may get any of them, or more: 22.05 gave all GPUs of three nodes for `gpu:2,gpu:1`.
local function take(kinds, kind, count, known)
    local one = kinds[kind]
    if not one then
        kinds[kind] = { least = known and count or 0, most = count }
        return
    end
    one.least = min(one.least, known and count or 0)
    one.most = one.most == count and count or huge
end

local function read(list, slash)
    if not find(list, "gpu", 1, true) then
        return NO_GPUS
    end
    if #list > MOST_BYTES then
        return TOO_LONG
    end
    local kinds, order, named = {}, {}, false
    for item in gmatch(list, "[^,]+") do
        local count, kind, known = entry(item, slash)
        if count then
            named = true
            if count > 0 then
                kind = kind or ""
                if not kinds[kind] then
                    order[#order + 1] = kind
                end
                take(kinds, kind, count, known)
            end
        end
    end
    if not named then
        return NO_GPUS
    end
    local least, most, types = 0, 0, nil
    for i = 1, #order do
        local kind = order[i]
        local one = kinds[kind]
        least, most = least + one.least, most + one.most
        if kind ~= "" then
            types = types and (types .. "," .. kind) or kind
        end
    end
    if least == huge then
        least = 0
    end
    return { least = least, most = most, types = types }
end

local readers = {}
for _, slash in ipairs({ true, false }) do
    readers[slash] = text.kept(function(list)
        return read(list, slash)
    end)
end

-- A table of what lists ask for: { least, most, types }, all of them nil where a list names no GPU. A count of zero is no
-- entry. `slash`: whether this Slurm reads gres/gpu:2.
function gres.reader(slash)
    return readers[slash]
end

-- The number behind gpu in a list of what each GPU brings along: `gres:gpu:4096` (MiB of memory), `gres/gpu:a100:6` (CPUs).
function gres.per_gpu(list)
    if not list then
        return nil
    end
    if #list > MOST_BYTES then
        return find(list, "gpu", 1, true) and huge or nil
    end
    local most
    for item in gmatch(list, "[^,]+") do
        local count, kind = entry(item, true)
        if count and (kind or match(item, "[:=]")) then
            most = max(most or 0, count)
        end
    end
    return most
end

-- The GPUs in Slurm's own count of what a job asks for, `cpu=4,node=1,gres/gpu=4,gres/gpu:a100=4`; nil where it has none.
function gres.requested(list)
    local all, of_types
    for item in gmatch(list, "[^,]+") do
        local kind, number = match(item, "^gres/gpu(:?[^=]*)=(.*)$")
        if kind == "" then
            all = count_of(number) or huge
        elseif kind and find(kind, ":", 1, true) == 1 then
            of_types = (of_types or 0) + (count_of(number) or huge)
        end
    end
    return all or of_types
end

-- The CPUs of each task in a list such as `cpu:2,gres/gpu:1`, which --tres-per-task and, from 24.05 on, -c make.
gres.cpus = text.kept(function(list)
    if #list > MOST_BYTES then
        return huge
    end
    local most = 0
    for item in gmatch(list, "[^,]+") do
        local number = match(trimmed(item), "^cpu[:=](.*)$")
        if number then
            most = max(most, count_of(number) or huge)
        elseif find(item, "^%s*cpu") then
            most = max(most, 1)
        end
    end
    return most
end)

return gres
