-- GPUs and parts of GPUs in Slurm's lists of generic resources, as Slurm 22.05 to 26.05 reads them. A spelling that Slurm may
-- read in more than one way has a least and a most; `huge` stands for an unknown number.
local need = ...
local gpu_words = need("gpu_words")
local text = need("text")

local gres = {}

local find, gmatch, lower, match = string.find, string.gmatch, string.lower, string.match
local trimmed = text.trimmed
local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min

-- Slurm's suffixes of a count; `k` without digits counts 0.
local UNITS = { [""] = 1 }
for power, letter in ipairs({ "k", "m", "g", "t", "p" }) do
    UNITS[letter], UNITS[letter .. "ib"], UNITS[letter .. "b"] = 1024 ^ power, 1024 ^ power, 1000 ^ power
end

local MOST_DIGITS = 12 -- more may not fit what C counts in, and turn into another number there

-- A count as strtoull reads it: 2, +2, " 2", 2k. nil for a word that is not a count; false for one that C reads and we do not.
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

local TYPE = "^[%w_.-][%w_.+-]*$"

-- How many GPUs the words behind `gpu:` ask for, and of which type; nil where Slurm may read them in several ways or not.
local function read_tail(tail)
    local kind, number = match(tail, "^([^:=]+)[:=]([^:=]*)$")
    if kind then
        return match(kind, TYPE) and count_of(number) or nil, kind
    end
    local count = count_of(tail)
    if count == nil and match(tail, TYPE) then
        return 1, tail
    end
    return count or nil, nil
end

-- The names of what is, or is part of, a GPU, with patterns: behind the name, and of spellings that are not read.
local NAMES = {}
for i, name in ipairs({ "gpu", "shard", "mps" }) do
    NAMES[i] = {
        name = name,
        tail = "^" .. name .. "[:=](.*)$",
        -- gpumem and license:gpu are others' names; with a blank or a second `gres` the reading is unknown.
        odd = { "^%s*" .. name .. "[%s(]", "^%s+" .. name, "gres[:/]%s*" .. name, "^PER_%u+:" .. name },
    }
end
-- Slurm's numbers of their plugins, which old releases show where they do not know the name.
local PLUGINS = { ["7696487"] = "gpu", ["1918986455"] = "shard", ["7565421"] = "mps" }

-- What an item without its `gres` says of one of NAMES: how many and of which type; nil where it does not name it.
local function named(one, rest)
    if rest == one.name then
        return 1
    end
    local tail = match(rest, one.tail)
    if tail then
        local count, kind = read_tail(tail)
        return count or huge, kind
    end
    for i = 1, #one.odd do
        if match(rest, one.odd[i]) then
            return huge, nil, true
        end
    end
    return nil
end

-- One word of a list: its name (gpu, shard or mps), how many of which type, and whether Slurm surely takes them; nil for
-- anything else. gres:gpu:a100:2, gres/gpu:2, gres:gpu (one), gres:gpu:a100 (one of them); without `gres` in front slurmctld
-- passes over it. `slash`: this Slurm reads gres/gpu:2, as 23.11 and later do; before, it passes over such a word in silence.
local function entry(item, slash)
    local sign, rest = match(item, "^%s*gres([:/])(.*)$")
    rest = rest or item
    local known = (sign == ":" and not find(rest, "=", 1, true)) or (sign == "/" and slash)
    known = known and not find(item, "^%s") -- 26.05 passes over a word with a blank in front
    local number, behind = match(rest, "^(%d+)(.*)$")
    if PLUGINS[number] then
        rest, known = PLUGINS[number] .. behind, false
    end
    for i = 1, #NAMES do
        local count, kind, is_odd = named(NAMES[i], rest)
        if count then
            return NAMES[i].name, count, kind, known and not is_odd
        end
    end
    return nil
end

-- The share of a part whose share of a GPU is unknown: more than none.
local SOME = 1e-5
gres.NEAR = 1e-6 -- sums of shares that differ by less are the same

-- Whole numbers stay whole: seven slices of a seventh are a GPU.
local function tidy(number)
    return number < huge and floor(number * 1e7 + 0.5) / 1e7 or number
end
gres.tidy = tidy

-- The least and the most of a GPU that one of this word is, and how many parts of GPUs: 1 of a slice or a shard, of MPS as many
-- as GPUs (`per`: of one part). `kind` nil: of no type.
local function weight(name, kind, shares)
    if name == "gpu" and not (kind and gpu_words.is_slice(kind)) then
        return 1, 1, nil
    end
    local share
    if name == "gpu" then
        share = gpu_words.slice_share(kind, shares)
    else
        share = gpu_words.share(name, kind, shares)
    end
    return share or SOME, share or huge, name == "mps" and (share or 0.01) or 1
end

local NO_GPUS = {}
local TOO_LONG = { least = 0, most = huge, parts = true }
local MOST_BYTES = 1024 -- Slurm refuses a longer list, but looks at lengths after the script has run

-- Where one type has several counts the job may get any of them, or more: 22.05 gave all GPUs of three nodes for `gpu:2,gpu:1`.
local function take(kinds, order, name, kind, count, known)
    local key = kind and name .. ":" .. kind or name
    local one = kinds[key]
    if not one then
        one = { name = name, kind = kind, least = known and count or 0, most = count }
        kinds[key], order[#order + 1] = one, one
        return
    end
    one.least = min(one.least, known and count or 0)
    one.most = one.most == count and count or huge
end

local function add(sum, least, most)
    sum.least, sum.most = (sum.least or 0) + least, (sum.most or 0) + most
end

-- Add `least` to `most` of this word to a reading.
local function count(reading, name, kind, least, most, shares)
    local low, high, part = weight(name, kind, shares)
    least = least < huge and least or 0
    if name == "gpu" then
        add(reading, least, most)
    end
    add(reading.size, low * least, most > 0 and high * most or 0)
    if part then
        reading.parts = true
        local pieces_least, pieces_most = ceil(tidy(part * least)), most < huge and ceil(tidy(part * most)) or huge
        add(reading.pieces, pieces_least, pieces_most)
        add(reading.bodies, pieces_least, pieces_most)
        return
    end
    add(reading.bodies, least, most)
    if most == huge and not kind then -- what cannot be read may be slices
        reading.parts = true
        add(reading.pieces, 0, huge)
    end
end

-- Ends a reading: one without parts is no more than its numbers.
local function finished(reading, types)
    reading.types, reading.size.types, reading.bodies.types = types, types, types
    if not reading.parts then
        reading.size, reading.bodies, reading.pieces = nil, nil, nil
    end
    return reading
end

local function names_gpus(list)
    return find(list, "gpu", 1, true) or find(list, "shard", 1, true) or find(list, "mps", 1, true)
        or find(list, "%d%d%d%d%d%d%d")
end

local function read(list, slash, shares)
    if not names_gpus(list) then
        return NO_GPUS
    end
    if #list > MOST_BYTES then
        return TOO_LONG
    end
    local kinds, order, is_named = {}, {}, false
    for item in gmatch(list, "[^,]+") do
        local name, number, kind, known = entry(item, slash)
        if name then
            is_named = true
            if number > 0 then
                take(kinds, order, name, kind, number, known)
            end
        end
    end
    if not is_named then
        return NO_GPUS
    end
    local reading = { size = {}, pieces = {}, bodies = {} }
    local types
    for i = 1, #order do
        local one = order[i]
        count(reading, one.name, one.kind, one.least, one.most, shares)
        if one.name == "gpu" and one.kind then
            types = types and (types .. "," .. one.kind) or one.kind
        end
    end
    if not order[1] then
        add(reading, 0, 0) -- gpu:0 is an answer
    end
    return finished(reading, types)
end

-- A table of what lists ask for: { least, most, types } of the GPUs that Slurm counts, slices of MIG among them, nil where a
-- list names none. Where `parts` is true there are parts of GPUs: `size` is the same in GPUs, of which a slice, a shard or
-- MPS is a part, `pieces` the number of parts, `bodies` that of GPUs and parts; gres.by() has these of every reading. `slash`:
-- whether this Slurm reads gres/gpu:2. `shares`: of the policy, what part of a GPU a word is.
function gres.reader(slash, shares)
    return text.kept(function(list)
        return read(list, slash, shares)
    end)
end

-- The numbers of a reading by `size`, `pieces`, `bodies` or `counts`, Slurm's own.
function gres.by(name, reading)
    if reading.parts then
        return reading[name] or reading
    end
    return name == "pieces" and NO_GPUS or reading
end

-- The same of each list of a reader.
function gres.view(reader, name)
    return setmetatable({}, {
        __index = function(_, list)
            return gres.by(name, reader[list])
        end,
    })
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
        local name, number, kind = entry(item, true)
        if name == "gpu" and (kind or match(item, "[:=]")) then
            most = max(most or 0, number)
        end
    end
    return most
end

-- The GPUs in Slurm's own count of what a job asks for, `cpu=4,node=1,gres/gpu=4,gres/gpu:a100=4`, as a reading whose `most`s
-- are the numbers; nil where it has none.
function gres.requested(list, shares)
    if not names_gpus(list) then
        return nil
    end
    local found = gpu_words.of_tres(list)
    if not found then
        return find(list, "gres/", 1, true) and TOO_LONG or nil
    end
    local reading, is_named = { size = {}, pieces = {}, bodies = {} }, false
    gpu_words.held(found, function(name, kind, number)
        is_named = true
        count(reading, name, kind, number, number, shares)
    end)
    return is_named and finished(reading, nil) or nil
end

-- The CPUs of each task in a list such as `cpu:2,gres/gpu:1`, which --tres-per-task and, since 24.05, -c make.
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
