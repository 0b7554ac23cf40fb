-- Slurm's job_desc and job_rec as a request. What Slurm calls unset (nil, "", 65534, 4294967294) is absent here.
-- A field is read only where a policy can need it: each read costs Slurm a search, some a copy or a line in its log.
local need = ...
local ckpt = need("ckpt")
local record = need("record")
local sizes = need("sizes")
local text = need("text")
local update = need("update")

local request = { is_policed = update.is_policed }

local huge = math.huge
local lower = string.lower
local cpus_of, mem_of, read_gpus = sizes.cpus, sizes.mem, sizes.read_gpus

local NO_VAL = 4294967294
local INFINITE = 4294967295
local NICE_OFFSET = 2147483648
local PARTITION_UP = 3 -- state_up: jobs may be submitted and started

local STATES = { [0] = "PENDING", "RUNNING", "SUSPENDED" }

local function u32(value)
    if value and value < NO_VAL and value > 0 then
        return value
    end
    return nil
end

local function word(value)
    if value == "" then
        return nil
    end
    return value
end

-- Slurm keeps the names of accounts and QOS in lower case, but lowers them after the script has run.
local function lowered(value)
    return value and value ~= "" and lower(value) or nil
end

local NONE, names = text.NONE, text.names

-- One table for all calls: it looks things up in the list of the call that is going on.
local parts
local usable = setmetatable({}, {
    __index = function(_, name)
        local part = parts[name]
        if not part then
            return false
        end
        local state = part.state_up
        return state == nil or state % 4 == PARTITION_UP
    end,
})

-- Fields that few decisions look at, read from `source` when one does.
local later = {}

function later.account(_, source)
    return lowered(source.account) or lowered(source.default_account)
end

function later.qos(_, source)
    return lowered(source.qos) or lowered(source.default_qos)
end

function later.qos_given(_, source)
    return lowered(source.qos) ~= nil
end

function later.job_name(_, source)
    return word(source.name)
end

function later.features(_, source)
    return word(source.features)
end

function later.array(_, source)
    return word(source.array_inx)
end

function later.het_offset(_, source)
    local offset = source.het_job_offset
    return offset and offset < NO_VAL and offset or nil
end

function later.max_nodes(_, source)
    return u32(source.max_nodes)
end

later.most_nodes = sizes.most_nodes

function later.fewest_nodes(_, source)
    return sizes.fewest_nodes(source.bitflags)
end

function later.min_cpus(_, source)
    return u32(source.min_cpus)
end

function later.min_mem_per_cpu(_, source)
    local of_cpu = source.min_mem_per_cpu
    return of_cpu and of_cpu > 0 and of_cpu or nil
end

function later.cpus_fixed(made, source)
    made.cpus_fixed, made.cpus_each = sizes.most_cpus(made, source)
    return made.cpus_fixed
end

later.cpus, later.mem = cpus_of, mem_of

function later.batch(_, source)
    local script = source.script
    return script ~= nil and script ~= ""
end

-- Only a batch job has an environment; asking for that of another puts an error into slurmctld.log.
function later.restartable(made, source)
    local script = source.script
    local environment = made._ckpt and script and script ~= "" and source.environment
    if not environment then
        return nil
    end
    return ckpt.restartable(environment, made._ckpt)
end

-- All submissions share one table: a fresh one for each would be most of the garbage of a decision. `fetched` lists the fields
-- that were read later, which the next submission must not see.
local submitted
local fetched, count = {}, 0

-- What is not there is false, so that it is looked for once; but `restartable`, where false is an answer, stays nil.
local LATER = {
    __index = function(made, field)
        local read = later[field]
        if not read then
            return nil
        end
        local value = read(made, made._source)
        if value == nil and field ~= "restartable" then
            value = false
        end
        made[field] = value
        if made == submitted then
            count = count + 1
            fetched[count] = field
        end
        return value
    end,
}

submitted = setmetatable({}, LATER)

-- What only routing looks at is read in one go; `wished`: the last submission left it there.
local wished = false

local function read_for_routing(made, source)
    local reservation, features, most = source.reservation, source.features, source.max_nodes
    made.reservation = reservation ~= "" and reservation or false
    made.features = features ~= "" and features or false
    made.max_nodes = most and most < NO_VAL and most > 0 and most or false
    made.mem = mem_of(made, source) or false
    wished = true
end

function later.reservation(made, source)
    if made ~= submitted then
        return word(source.reservation)
    end
    read_for_routing(made, source)
    return made.reservation
end

local function read(made, source, uid, by, plan, now, untold)
    made._source = source
    made.now, made.uid, made.by = now or false, uid or false, by or false
    made.user = plan.needs_user and word(source.user_name) or false
    local partition = source.partition
    made.queues = partition and names[partition] or NONE
    local minutes = source.time_limit
    if minutes == nil or minutes == NO_VAL then
        made.limit, made.limit_kind = false, "unset"
    elseif minutes >= INFINITE then
        made.limit, made.limit_kind = false, "unlimited"
    else
        made.limit, made.limit_kind = minutes * 60, "finite"
    end
    minutes = source.time_min
    if not minutes or minutes == NO_VAL or minutes <= 0 then
        made.time_min = false
    else
        made.time_min = minutes < NO_VAL and minutes * 60 or huge
    end
    local nodes, named = source.min_nodes, source.req_nodes
    if named == "" then
        named = nil
    end
    if not nodes or nodes >= NO_VAL or nodes <= 0 then
        nodes = sizes.nodes_by_tasks(source) -- 22.05 has set it to the nodes that are named; later ones choose among them
    end
    made.node_list = named or false
    made.whole = sizes.is_whole(source)
    read_gpus(made, source, nodes, untold)
    return made
end

-- The request of a submission by uid `by`. It is read from job_desc as it is used, so it lasts as long as the call.
function request.of_submission(job_desc, part_list, by, policy, plan, now)
    parts = part_list
    if count > 0 then
        for i = 1, count do
            submitted[fetched[i]] = nil
        end
        count = 0
    end
    submitted.usable = part_list and usable or false
    submitted._ckpt = policy.ckpt or false
    local field = plan.record
    if field then
        local before = job_desc[field]
        submitted[field] = before ~= "" and before or false
    end
    read(submitted, job_desc, job_desc.user_id, by, plan, now)
    if plan.routing and submitted.queues == NONE then
        submitted.cpus = cpus_of(submitted, job_desc)
        read_for_routing(submitted, job_desc)
    elseif wished then
        submitted.reservation, submitted.features, submitted.max_nodes = nil, nil, nil
        submitted.cpus, submitted.mem = nil, nil
        wished = false
    end
    return submitted
end

-- Whether a job took whole nodes, which no field of job_rec shows: our record does, in the field that users cannot write.
local function was_whole(job_rec, plan)
    local there = plan.record == "admin_comment" and record.read(job_rec.admin_comment)
    if not there then
        return "unknown"
    end
    return there.own == "node"
end

-- The job as it would be after the update, and as it is. job_rec has no environment: restartable stays unknown.
function request.of_update(job_desc, job_rec, part_list, by, plan, now)
    local uid = job_rec.user_id
    local gpus = sizes.untold_gpus(job_rec)
    local job = read(setmetatable({ older = true }, LATER), update.record_view(job_rec), uid, nil, plan, now, gpus)
    local state = job_rec.job_state
    job.state = state and STATES[state % 256] or "OTHER"
    local array = job_rec.array_job_id
    job.array = array ~= nil and array ~= 0 and array < NO_VAL
    local points = job_rec.site_factor
    if points and points ~= NO_VAL then
        job.points = points >= NICE_OFFSET and points - NICE_OFFSET or points
    end
    job.whole = was_whole(job_rec, plan)
    parts = part_list
    local wanted = setmetatable({ older = true, usable = part_list and usable or nil }, LATER)
    read(wanted, update.view(job_desc, job_rec), uid, by, plan, now, gpus)
    wanted.whole = wanted.whole or job.whole
    return wanted, job
end

return request
