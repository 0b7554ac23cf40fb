-- An update as the whole job that it would leave: a request, as a submission is one, of the update's fields where they are set
-- and the record's else, with what Slurm will really give. What nobody can tell of it is unknown there: a rule refuses that.
local need = ...
local gpu_size = need("gpu_size")
local gres = need("gres")
local licences = need("licences")
local record = need("record")

local resulting = {}

local NO_VAL16 = 65534
local NO_VAL = 4294967294
local NICE_OFFSET = 2147483648

local COMPLETING = 0x8000
local STATES = { [0] = "PENDING", "RUNNING", "SUSPENDED" }

-- The fields of an update that rules look at, in the order in which Slurm takes them over: those of a group together. A hold, a
-- release or a new name sets no such field.
local GROUPS = {
    { "partition", "account", "qos", "reservation", "req_nodes" },
    { "min_cpus", "max_cpus", "pn_min_cpus" },
    { "min_nodes", "max_nodes" },
    { "num_tasks", "cpus_per_task", "ntasks_per_node", "ntasks_per_tres", "sockets_per_node" },
    { "time_limit", "time_min" },
    { "min_mem_per_cpu", "min_mem_per_node" },
    { "shared", "features", "prefer" },
    { "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task", "cpus_per_tres", "mem_per_tres" },
}
local WHERE, LIMIT = 1, 5

local GROUP_OF = {}
for i = 1, #GROUPS do
    for j = 1, #GROUPS[i] do
        GROUP_OF[GROUPS[i][j]] = i
    end
end

local SMALL = {
    cpus_per_task = true, ntasks_per_node = true, ntasks_per_tres = true, sockets_per_node = true, pn_min_cpus = true,
    shared = true, reboot = true,
}

local function is_set(value, field)
    return value ~= nil and value ~= NO_VAL and not (value == NO_VAL16 and SMALL[field])
end

-- The groups of which an update sets a field, by their place in GROUPS.
local function groups_of(job_desc)
    local found = {}
    for i = 1, #GROUPS do
        local fields = GROUPS[i]
        for j = 1, #fields do
            if is_set(job_desc[fields[j]], fields[j]) then
                found[#found + 1] = i
                break
            end
        end
    end
    return found
end

-- The places in GROUPS of CPUs, nodes and tasks, for which Slurm counts the job's TRES again, though an update set the number
-- that is there; and of memory. Trap: after a run the record of a job with memory by the GPU has 0 of a node or of a CPU, as
-- if it had asked for all of it; an update that sets that 0 gives it.
local COUNTS, MEMORY_GROUP = { [2] = true, [3] = true, [4] = true }, { [6] = true }

-- Whether one of these groups, of which an update sets a field, is at these places.
local function sets(groups, places)
    for i = 1, #groups do
        if places[groups[i]] then
            return true
        end
    end
    return false
end

function resulting.is_policed(job_desc)
    return groups_of(job_desc)[1] ~= nil
end

-- In job_rec, which has no cpus_per_task: it is no more than the CPUs of a node.
local RENAMED = { reservation = "resv_name", cpus_per_task = "pn_min_cpus" }

-- A job_rec under the names of job_desc. `sets_cpus_per_task`: whether an update makes CPUs of tasks that no record shows.
local function of_record(job_rec)
    return setmetatable({ sets_cpus_per_task = false }, {
        __index = function(_, field)
            return job_rec[RENAMED[field] or field]
        end,
    })
end

-- Slurm has one field for both: who sets one takes the other away.
local MEMORY = { min_mem_per_cpu = "min_mem_per_node", min_mem_per_node = "min_mem_per_cpu" }

-- The fields of the job after the update. An empty text clears a field.
local function merged(job_desc, job_rec)
    return setmetatable({ sets_cpus_per_task = is_set(job_desc.cpus_per_task, "cpus_per_task") }, {
        __index = function(_, field)
            if field == "script" then
                return job_rec.script -- no update changes it
            end
            local value = job_desc[field]
            if value == nil and MEMORY[field] and job_desc[MEMORY[field]] then
                return nil
            end
            return is_set(value, field) and value or job_rec[RENAMED[field] or field]
        end,
    })
end

-- What no field of job_rec shows and our record does, in the field that users cannot write: whether the job took whole nodes,
-- and for which class it was given points.
local function recorded(job_rec, ruleset)
    local there = ruleset.record == "admin_comment" and record.read(job_rec.admin_comment)
    if not there then
        return "unknown", nil
    end
    return there.own == "node", there.cls
end

-- `points` as they are in the record of a job.
local function points_of(job_rec)
    local points = job_rec.site_factor
    if not points or points == NO_VAL then
        return nil
    end
    return points >= NICE_OFFSET and points - NICE_OFFSET or points
end

-- The job after an update, of which `counted` are the GPUs before it by Slurm's own count.
local function after_of(job_desc, job_rec, job, counted, site, as_request)
    if gpu_size.is_named(job_desc, site) then
        counted = nil
    end
    local after = as_request(merged(job_desc, job_rec), counted)
    after.whole = after.whole or job.whole
    local groups = groups_of(job_desc)
    after.recounted, after.sets_memory = sets(groups, COUNTS), sets(groups, MEMORY_GROUP)
    after.counted = counted and not after.recounted and gres.by("bodies", counted).most or false
    after.account_given = (job_desc.account or "") ~= ""
    return after
end

-- An update with the fields of these groups only.
local function part_of(job_desc, is_in)
    return setmetatable({}, {
        __index = function(_, field)
            local group = GROUP_OF[field]
            if group and not is_in[group] then
                return nil
            end
            return job_desc[field]
        end,
    })
end

-- Whether one of the queues gives whole nodes, which makes a job of any class one of all their GPUs.
function resulting.gives_whole_nodes(queues, ruleset)
    for i = 1, #queues do
        local facts = ruleset.facts[queues[i]]
        if facts and facts.whole then
            return true
        end
    end
    return false
end

-- Whether the job leaves a queue of whole nodes where it ran: Slurm gives it whole nodes in any queue then, unseen.
local function keeps_whole(after, job, job_rec, ruleset)
    return (job_rec.restart_cnt or 0) > 0 and resulting.gives_whole_nodes(job.queues, ruleset)
        and not resulting.gives_whole_nodes(after.queues, ruleset)
end

-- Whether a run of the job is over and its nodes are not free yet. Trap: slurmctld writes what changes then into the row of
-- that run, by which it is charged.
local function is_ending(job_rec)
    return (job_rec.job_state or 0) % (2 * COMPLETING) >= COMPLETING
end

-- The most groups of fields in an update whose parts are looked at.
local MOST_GROUPS = 4

-- Calls fn(is_in) for each part of these groups, which may be all that Slurm takes over of an update: where a later field is
-- wrong, what came before it stays. Nothing can go wrong between the queue and the limit.
local function each_part(groups, fn)
    if #groups == 2 and groups[1] == WHERE and groups[2] == LIMIT then
        return
    end
    for number = 1, 2 ^ #groups - 2 do
        local is_in, rest = {}, number
        for i = 1, #groups do
            is_in[groups[i]] = rest % 2 == 1
            rest = (rest - rest % 2) / 2
        end
        fn(is_in)
    end
end

local UNKNOWN = { least = 0, most = math.huge }

-- The job's GPUs by Slurm's own count, a reading, nil for none. A job of watts whose record names no GPUs has some by
-- --ntasks-per-gpu, which job_rec lacks; 22.05 does not count them before the job runs.
local function counted_of(job_rec, site)
    local counted, power = gpu_size.counted(job_rec, site.shares), site.ruleset.power
    if (counted and (counted.most or 0) > 0) or gpu_size.has_list(job_rec) then
        return counted
    end
    local watts = power and licences.number(job_rec.licenses, power.licence) or 0
    return watts > 0 and UNKNOWN or counted
end

-- The job as the update would leave it, and as it is: two requests, which `as_request(source, counted)` makes, where `counted`
-- are its GPUs by Slurm's own count. `site` is of request.reader. `parts()` of the first is a list of what the update may leave
-- where Slurm takes over a part of it, nil where these are too many; its `keeps` names what the job would keep of before.
function resulting.of(job_desc, job_rec, site, as_request)
    local counted = counted_of(job_rec, site)
    local job = as_request(of_record(job_rec), counted)
    local state, array = job_rec.job_state, job_rec.array_job_id
    job.state = state and STATES[state % 256] or "OTHER"
    job.array = array ~= nil and array ~= 0 and array < NO_VAL
    job.points = points_of(job_rec)
    job.account_given = false
    job.whole, job.paid = recorded(job_rec, site.ruleset)
    local after = after_of(job_desc, job_rec, job, counted, site, as_request)
    after.keeps = is_ending(job_rec) and "ending" or gpu_size.leaves_type(job_desc, job_rec, site) and "gpu_type"
        or keeps_whole(after, job, job_rec, site.ruleset) and "whole" or false
    function after.parts()
        local groups, found = groups_of(job_desc), {}
        if #groups > MOST_GROUPS then
            return nil
        end
        each_part(groups, function(is_in)
            found[#found + 1] = after_of(part_of(job_desc, is_in), job_rec, job, counted, site, as_request)
        end)
        return found
    end
    return after, job
end

-- What an update can change of a job. `usable` and the like describe the request, not the job.
local FIELDS = { "limit", "limit_kind", "time_min", "account", "qos", "features", "reservation" }
local SIZES = {
    "nodes", "max_nodes", "num_tasks", "cpus", "gpus", "gpus_per_node", "gpu_type", "most_nodes", "gpus_fixed", "gpus_each",
    "gpus_nodes", "node_gpus_most", "gpu_slices", "gpu_slices_fixed", "gpu_slices_each", "cpus_fixed", "cpus_each", "whole",
    "node_list", "min_cpus", "min_mem_per_cpu", "nodes_by_features",
}
local MEMORIES = { "mem_per_node", "mem_per_gpu" }

local function differs(fields, after, job, changed)
    local any = false
    for i = 1, #fields do
        local field = fields[i]
        if after[field] ~= job[field] then
            changed[field], any = true, true
        end
    end
    return any
end

-- The fields that differ, with `size` where one of the job's size does, and `memory`; and whether there are any.
function resulting.changes(after, job)
    local changed = {}
    changed.size = differs(SIZES, after, job, changed) or after.recounted or nil
    changed.memory = differs(MEMORIES, after, job, changed) or after.sets_memory or nil
    local any = differs(FIELDS, after, job, changed) or changed.size or changed.memory or false
    local now, before = after.queues or {}, job.queues or {}
    if table.concat(now, ",") ~= table.concat(before, ",") then
        changed.queues, any = true, true
    end
    return changed, any
end

-- Whether Slurm gives the job after the update what it would have given it before.
function resulting.is_as_large(after, job, ruleset)
    local changed = resulting.changes(after, job)
    return not changed.size and not (changed.queues and resulting.gives_whole_nodes(after.queues or {}, ruleset))
end

return resulting
