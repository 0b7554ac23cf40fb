-- One round: how long submissions take in slurm_job_submit (microseconds at the 50th, 99th and 99.9th percentile) and how long the
-- script with its tables takes to load (milliseconds). `lua decide.lua FOLDER SUBMISSIONS` prints "p50 p99 p999 load empty".
local folder, count = arg[1], tonumber(arg[2])
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
local queues = { "gq", "gq-short", "gq-middle", "gq-long" }

-- What every job_desc holds that is not unset text.
local UNSET = {
    default_account = "physics", default_qos = "normal", min_cpus = 8, num_tasks = 1, cpus_per_task = 8, script = "#!/bin/sh\n",
    time_min = slurm.NO_VAL, max_nodes = slurm.NO_VAL, het_job_offset = slurm.NO_VAL, site_factor = slurm.NO_VAL,
    ntasks_per_node = slurm.NO_VAL16, ntasks_per_tres = slurm.NO_VAL16, sockets_per_node = slurm.NO_VAL16,
}

-- Each read is one call, as in Slurm, whose own part in C is not ours to count. Jobs: one in five names no queue, one in four is
-- above a rule's maximum; users with a row of points and without.
local function job_desc_of(i)
    local fields = {
        user_id = 1000 + i % 12000, name = "train-" .. i % 50, time_limit = ({ 60, 600, 4320, 9000 })[i % 4 + 1],
        min_nodes = i % 10 == 0 and 2 or 1, tres_per_node = i % 3 == 0 and "gres:gpu:8" or "gres:gpu:1",
        partition = queues[i % 5 + 1],
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

local function measure(call)
    local times = {}
    for i = 1, count do
        local job_desc = job_desc_of(i)
        local start = clock()
        call(job_desc, parts, 1000 + i % 12000)
        times[i] = (clock() - start) * 1e6
        said.messages, said.info = {}, {}
    end
    table.sort(times)
    return times
end

local function nothing()
    return 0
end

for _ = 1, 2000 do
    submit(job_desc_of(1), parts, 1001)
end
local empty = measure(nothing)
local times = measure(submit)
local function at(list, share)
    return list[math.ceil(#list * share)]
end
print(string.format("%.2f %.2f %.2f %.2f %.2f", at(times, 0.5), at(times, 0.99), at(times, 0.999), load_ms, at(empty, 0.5)))
