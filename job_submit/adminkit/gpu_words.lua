-- What one word says of GPUs: whether a type is a slice of MIG, and what part of a GPU a slice, a shard or MPS is.
-- adminkit/gres.py reads words alike; tests/data/gres_words.tsv has the cases of both.
local gpu_words = {}

local find, gsub, lower, match, sub = string.find, string.gsub, string.lower, string.match, string.sub

gpu_words.UNTYPED = "gpu" -- a GPU of no type, in tables of shares

-- How many slices of MIG a GPU of this name has, in this order; 7 for any other name.
local BY_NAME = {
    { "%f[%w]a30%f[%D]", 4 },
    { "pro[%._ %-]?6000", 4 },
    { "pro[%._ %-]?4500", 2 },
    { "pro[%._ %-]?5000", 2 },
}
-- The same by slices and GB, where no name says it; false: GPUs with 7, 4 and 2 slices have it.
local BY_PROFILE = {
    ["1.6"] = 4, ["2.12"] = 4, ["4.24"] = 4, ["4.96"] = 4, ["1.16"] = 2, ["2.32"] = 2, ["1.24"] = false, ["2.48"] = false,
}
local MOST_SLICES = 7

-- Whether a profile may follow this text: at the beginning of a type, or behind a dot, a dash, an underline, or mig.
local function is_head(head)
    return head == "" or find(head, "[%._%-]$") or head == "mig" or find(head, "[%._%-]mig$")
end

-- The profile in a type such as a100_3g.20gb: the text before it, compute instances (nil for none), slices and GB; nil where
-- the type is not a slice.
local function profile_of(kind)
    local name, at = lower(kind), 1
    while true do
        local first, last, slices, size = find(name, "([1-9])g[%._%-]?(%d+)gb", at)
        if not first then
            return nil
        end
        if find(name, "^[%+%._%-]", last + 1) or last == #name then
            local head = sub(name, 1, first - 1)
            local before, compute = match(head, "^(.-)([1-9])c[%._%-]?$")
            if before and is_head(before) then
                return before, tonumber(compute), tonumber(slices), tonumber(size)
            elseif is_head(head) then
                return head, nil, tonumber(slices), tonumber(size)
            end
        end
        at = first + 1
    end
end

function gpu_words.is_slice(kind)
    return profile_of(kind) ~= nil
end

-- How many slices the GPU has whose slice this is; nil where that cannot be known.
local function slices_of(kind, head, slices, size)
    for i = 1, #BY_NAME do
        if find(lower(kind), BY_NAME[i][1]) then
            return BY_NAME[i][2]
        end
    end
    local name = gsub(gsub(gsub(head, "nvidia", ""), "mig", ""), "[%._%-]", "")
    local of = BY_PROFILE[slices .. "." .. size]
    if name ~= "" or of == nil then
        return MOST_SLICES
    end
    return of or nil
end

-- What the site's config says of a word or of its kind; nil for nothing.
local function given(shares, word, short)
    local table_of = shares and shares.given
    return table_of and (table_of[word] or table_of[short])
end

-- What part of its GPU a slice of this type is; nil where that cannot be known.
function gpu_words.slice_share(kind, shares)
    local head, compute, slices, size = profile_of(kind)
    if not head then
        return nil
    end
    local share = given(shares, kind, compute and kind or slices .. "g." .. size .. "gb")
    if share then
        return share
    end
    local of = slices_of(kind, head, slices, size)
    if not of or slices > of then
        return nil
    end
    return (compute or slices) / of
end

-- How many shards or MPS (`name`) make a GPU of this type, nil for none; nil where that is not known.
local function per_gpu(name, kind, shares)
    local many = shares and shares[name] or {}
    local number = many[kind or gpu_words.UNTYPED] or many[gpu_words.UNTYPED] or (name == "mps" and 100)
    return number and number > 0 and number or nil
end

-- What part of a GPU one shard or one of MPS is, of a type or of none (nil); nil where that is not known. `name`: shard, mps.
function gpu_words.share(name, kind, shares)
    local share = given(shares, kind and name .. ":" .. kind or name, name)
    if share then
        return share
    end
    local number = per_gpu(name, kind, shares)
    return number and 1 / number
end

-- Slurm's suffixes of a count in a TRES.
local POWERS = { [""] = 0, k = 10, m = 20, g = 30, t = 40, p = 50 }
local UNSET = { [4294967294] = true, [4294967295] = true }

local function tres_count(word)
    local digits, unit = match(word, "^(%d+)(%a?)$")
    local power = digits and #digits <= 20 and POWERS[lower(unit)]
    local number = power and tonumber(digits) * 2 ^ power
    return number and number < 2 ^ 63 and not UNSET[number] and number or nil
end

-- Adds up one name's counts: those of types, and the rest of their total, which has no type. nil where it is less.
local function with_rest(counts)
    local all, sum = counts[gpu_words.UNTYPED], 0
    for kind, count in pairs(counts) do
        sum = sum + (kind ~= gpu_words.UNTYPED and count or 0)
    end
    if all and all < sum then
        return nil
    end
    counts[gpu_words.UNTYPED] = all and all > sum and all - sum or nil
    return counts
end

-- What Slurm's own list of TRES says, `cpu=4,node=1,gres/gpu:a100=4,gres/gpu=4`: tables of counts by type, `gpu`, `shard` and
-- `mps`; nil where a word of GPUs cannot be read.
function gpu_words.of_tres(list)
    local found = { gpu = {}, shard = {}, mps = {} }
    if list == "" then
        return nil
    end
    for item in string.gmatch(list, "[^,]+") do
        local key, value = match(item, "^([^=]*)=(.*)$")
        if not key or find(key, "^%d%d%d%d+$") then
            return nil
        end
        local name, kind = match(key, "^gres/([^:]*):?(.*)$")
        local counts = name and found[name]
        if counts then
            local count, is_typed = tres_count(value), find(key, ":", 1, true)
            if not count or (is_typed and kind == "") then
                return nil
            end
            kind = is_typed and kind or gpu_words.UNTYPED
            counts[kind] = (is_typed and counts[kind] or 0) + count
        end
    end
    local gpu, shard, mps = with_rest(found.gpu), with_rest(found.shard), with_rest(found.mps)
    return gpu and shard and mps and found or nil
end

-- The kind and count of each word that is part of a GPU, or whole ones: fn(name, kind, count); `name`: gpu, shard, mps, and
-- `kind` nil for no type. Shards and MPS that come with GPUs are those GPUs' own, and not more.
function gpu_words.held(found, fn)
    local has_gpus = false
    for kind, count in pairs(found.gpu) do
        has_gpus = has_gpus or count > 0
        fn("gpu", kind ~= gpu_words.UNTYPED and kind or nil, count)
    end
    for _, name in ipairs({ "shard", "mps" }) do
        for kind, count in pairs(has_gpus and {} or found[name]) do
            fn(name, kind ~= gpu_words.UNTYPED and kind or nil, count)
        end
    end
end

return gpu_words
