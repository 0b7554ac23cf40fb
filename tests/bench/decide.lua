-- One round: how long submissions take in slurm_job_submit, in microseconds at the 50th and 99th percentile, for jobs that
-- keep every rule, that name no queue, that a rule amends, that a rule refuses, and for a mixture of them; and how long the
-- script with its tables takes to load, in milliseconds; and how many of a block are given a soft limit.
-- `lua decide.lua FOLDER BLOCKS` prints NAME P50 P99 lines, and for each submission of one block of the mixture a line:
-- call MICROSECONDS.
local folder, blocks = arg[1], tonumber(arg[2])
local mock = dofile(folder .. "/mock.lua")

local slurm, said = mock.slurm()
_G.slurm = slurm
-- Wall time in microseconds: os.clock counts the process's own CPU time, which a busy neighbour does not lengthen.
local clock = os.clock

local began = clock()
assert(loadfile(folder .. "/job_submit.lua"))()
local load_ms = (clock() - began) * 1e3
assert(#said.errors == 0, said.errors[1])

local submit = _G.slurm_job_submit
local parts = mock.part_list({ gq = {}, ["gq-short"] = {}, ["gq-middle"] = {}, ["gq-long"] = {} })

-- What every job_desc holds that is not unset text.
local UNSET = {
    default_account = "physics", default_qos = "normal", min_cpus = 8, num_tasks = 1, cpus_per_task = 8, script = "#!/bin/sh\n",
    time_min = slurm.NO_VAL, max_nodes = slurm.NO_VAL, het_job_offset = slurm.NO_VAL, site_factor = slurm.NO_VAL,
    ntasks_per_node = slurm.NO_VAL16, ntasks_per_tres = slurm.NO_VAL16, sockets_per_node = slurm.NO_VAL16,
    pn_min_cpus = slurm.NO_VAL16,
}

local KINDS = {
    kept = { partition = "gq", limits = { 60, 600, 1440, 4320 } },
    routed = { limits = { 60, 170, 600, 4320 } },
    amended = { partition = "gq-long", limits = { 7000, 8000, 9000, 10000 } },
    refused = { partition = "gq-middle", limits = { 600, 1440, 2880, 2880 }, gpus = "gres:gpu:8" },
}
local MIXTURE = {}
for i = 1, 100 do
    MIXTURE[i] = i <= 88 and "kept" or i <= 96 and "routed" or i <= 99 and "amended" or "refused"
end

-- Each read is one call, as in Slurm, whose own part in C is not ours to count. Users have a row of points or none.
local function job_desc_of(i, name)
    local kind = KINDS[name]
    local fields = {
        user_id = 1000 + i % 12000, name = "train-" .. i % 50, time_limit = kind.limits[i % 4 + 1], partition = kind.partition,
        min_nodes = i % 10 == 0 and 2 or 1, tres_per_node = kind.gpus or (i % 3 == 0 and "gres:gpu:8" or "gres:gpu:1"),
    }
    for name, value in pairs(UNSET) do
        fields[name] = value
    end
    return setmetatable({}, {
        __index = function(_, name)
            return fields[name]
        end,
        __newindex = function(_, name, value)
            fields[name] = value
        end,
    })
end

-- Counts of calls by microseconds, not a list of 20,000 times: Lua's garbage collector would walk through such a list again and
-- again inside the calls that are measured.
local LONGEST = 1000
local BLOCK = 2000 -- calls that a percentile is taken of; Lua collects its garbage several times in them

local function spent_in(call, i, kind)
    local job_desc = job_desc_of(i, kind or MIXTURE[i * 37 % 100 + 1])
    local start = clock()
    call(job_desc, parts, 1000 + i % 12000)
    local spent = math.min(LONGEST, math.floor((clock() - start) * 1e6 + 0.5))
    said.messages, said.info = {}, {}
    return spent
end

local function measure(call, kind)
    local counts = {}
    for i = 0, LONGEST do
        counts[i] = 0
    end
    for i = 1, BLOCK do
        local spent = spent_in(call, i, kind)
        counts[spent] = counts[spent] + 1
    end
    return counts
end

-- Every process makes the same calls here, in the same state, so the collector's pauses fall into the same ones.
local function print_calls()
    local spent = {}
    for i = 1, BLOCK do
        spent[i] = spent_in(submit, i)
    end
    for i = 1, BLOCK do
        print("call", spent[i])
    end
end

local function at(counts, share)
    local seen = 0
    for i = 0, LONGEST do
        seen = seen + counts[i]
        if seen >= share * BLOCK then
            return i
        end
    end
end

-- The best of the blocks: what neighbours on the machine do only ever adds.
local function report(name, call, kind)
    local best_half, best_high = LONGEST, LONGEST
    for _ = 1, blocks do
        local counts = measure(call, kind)
        best_half, best_high = math.min(best_half, at(counts, 0.5)), math.min(best_high, at(counts, 0.99))
    end
    print(string.format("%s %d %d", name, best_half, best_high))
    return best_half
end

-- How many of the mixture are given a soft limit.
local given = 0
for i = 1, BLOCK do
    local job_desc = job_desc_of(i, MIXTURE[i * 37 % 100 + 1])
    submit(job_desc, parts, 1000 + i % 12000)
    given = given + (job_desc.time_min ~= slurm.NO_VAL and 1 or 0)
end
said.messages, said.info = {}, {}
measure(submit)
print_calls()
local half = report("mixture", submit)
for _, name in ipairs({ "kept", "routed", "amended", "refused" }) do
    report(name, submit, name)
end

-- A loop that takes as long as the median call and does nothing that could differ from one time to the next: its p99 is what the
-- machine itself adds.
local steps = 100
local function spin()
    local sum = 0
    for i = 1, steps do
        sum = sum + i
    end
    return sum
end
while at(measure(spin), 0.5) < half do
    steps = steps * 1.2
end
report("noise", spin)
print(string.format("load %.2f %.2f", load_ms, load_ms))
print(string.format("given %d %d", given, given))
