-- GPUs in Slurm's lists of generic resources, in every spelling from 22.05 to 26.05.
local need = ...
local text = need("text")

local gres = {}

local find, gmatch, match, sub = string.find, string.gmatch, string.match, string.sub

local UNITS = { [""] = 1, k = 1024, m = 1048576, g = 1073741824 }

-- The count at the end of an entry: 2, 2k. nil where it is no count.
local function count_of(word)
    local digits, unit = match(word, "^(%d+)([kKmMgG]?)$")
    if not digits then
        return nil
    end
    return tonumber(digits) * UNITS[unit:lower()]
end

-- gres:gpu:a100:2, gres/gpu:2, gpu:2, gpu=2, gpu (one), gpu:a100 (one of them), gpu:2(S:0-1); nil for anything else.
local function entry(item)
    local rest = match(item, "^%s*gres[:/](.*)$") or match(item, "^%s*(.*)$")
    local bracket = find(rest, "(", 1, true)
    rest = text.trimmed(bracket and sub(rest, 1, bracket - 1) or rest)
    if rest == "gpu" then
        return 1, nil
    end
    local tail = match(rest, "^gpu[:=](.*)$")
    if not tail then
        return nil
    end
    local count = count_of(tail)
    if count then
        return count, nil
    end
    local kind, number = match(tail, "^(.*)[:=]([^:=]*)$")
    count = number and count_of(number)
    if count then
        return count, kind
    end
    return 1, tail
end

local NO_GPUS = {}

-- What a list asks for: { total, types }, as gpus() gives them.
gres.read = text.kept(function(list)
    if not find(list, "gpu", 1, true) then
        return NO_GPUS
    end
    local total, types
    for item in gmatch(list, "[^,]+") do
        local count, kind = entry(item)
        if count then
            total = (total or 0) + count
            if kind and kind ~= "" then
                types = types and (types .. "," .. kind) or kind
            end
        end
    end
    return { total = total, types = types }
end)

-- How many GPUs a list asks for, and of which type (nil: any; several are joined by a comma). nil where it names no GPU.
function gres.gpus(list)
    if not list then
        return nil
    end
    local found = gres.read[list]
    return found.total, found.types
end

-- The number behind gpu in a list of what each GPU brings along: `gres:gpu:4096` (MiB of memory), `gres/gpu:a100:6` (CPUs).
function gres.per_gpu(list)
    if not list then
        return nil
    end
    for item in gmatch(list, "[^,]+") do
        local count, kind = entry(item)
        if count and (kind or match(item, "%d%s*$")) then
            return count
        end
    end
    return nil
end

return gres
