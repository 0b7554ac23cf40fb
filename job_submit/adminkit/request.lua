-- Slurm's job_desc and job_rec as a request. What Slurm calls unset (nil, "", 65534, 4294967294) is absent here.
-- A field is read only where a policy can need it: each read costs Slurm a search, some a copy or a line in its log.
local need = ...
local ckpt = need("ckpt")
local gpu_size = need("gpu_size")
local gres = need("gres")
local job_size = need("job_size")
local resulting = need("resulting")
local text = need("text")

local request = {}

local huge, max = math.huge, math.max
local lower = string.lower
local NONE, names = text.NONE, text.names

local NO_VAL = 4294967294
local INFINITE = 4294967295
local PARTITION_UP = 3 -- state_up: jobs may be submitted and started

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

-- What Slurm's list of partitions, `_parts` of a request, says of each queue for this user, as it is looked up.
local function usable_of(made)
    return setmetatable({}, {
        __index = function(_, name)
            local part = made._parts[name]
            local state = part and part.state_up
            return part ~= nil and (state == nil or state % 4 == PARTITION_UP)
        end,
    })
end

-- Fields that few decisions look at, read from `source` (a job_desc, or a view of one) when one does.
local later = {}

function later.account(_, source)
    return lowered(source.account) or lowered(source.default_account)
end

-- Whether an update (see of_update) names one, as that of an older job may be its user's default.
function later.account_given(_, source)
    return lowered(source.account) ~= nil
end

function later.licenses(_, source)
    return word(source.licenses)
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

-- --exclusive. Only our record tells it of an older job; without one it is unknown.
function later.exclusive(made, source)
    if made.older then
        return made.whole == true
    end
    return source.shared == 0
end

later.most_nodes = job_size.most_nodes

-- The most nodes by counts of features, needed or preferred; 0 for none.
function later.nodes_by_features(_, source)
    local _, most = job_size.nodes_by_features(source)
    return most
end

function later.fewest_nodes(_, source)
    return job_size.fewest_nodes(source.bitflags)
end

function later.reservation(_, source)
    return word(source.reservation)
end

function later.admin_comment(_, source)
    return word(source.admin_comment)
end

function later.comment(_, source)
    return word(source.comment)
end

function later.extra(_, source)
    return word(source.extra)
end

function later.cpus(made, source)
    local cpus, fixed, each = job_size.cpus(made, source)
    local fields = made._read
    local count = #fields
    fields[count + 1], fields[count + 2] = "cpus_fixed", "cpus_each"
    made.cpus_fixed, made.cpus_each = fixed, each
    return cpus
end

function later.cpus_fixed(made)
    return made.cpus and made.cpus_fixed -- read with them
end

function later.cpus_each(made)
    return made.cpus and made.cpus_each
end

later.mem, later.mem_per_node, later.mem_per_gpu = job_size.mem, job_size.mem_per_node, job_size.mem_per_gpu

-- Whether it has a script, which Slurm hands over whole at each look.
function later.scripted(_, source)
    local script = source.script
    return script ~= nil and script ~= ""
end

-- Read with it is what a soft limit looks at too. Only the first component of a het job has the script; sbatch gives each
-- an environment, with where it was started, srun and salloc give none.
function later.batch(made, source)
    if made.older then
        return made.scripted
    end
    local fields, offset = made._read, later.het_offset(made, source) or false
    local count = #fields
    fields[count + 1], fields[count + 2] = "het_offset", "array"
    made.het_offset, made.array = offset, word(source.array_inx) or false
    local environment = offset and offset > 0 and not made.scripted and source.environment
    return made.scripted or (environment and (environment.SLURM_SUBMIT_DIR or environment.SLURM_SUBMIT_HOST) ~= nil)
end

-- Only a batch job has an environment; asking for that of another puts an error into slurmctld.log.
function later.environment(made, source)
    return made.scripted and source.environment
end

-- true, false or "unknown".
function later.restartable(made)
    local environment = made._ckpt and made.environment
    if not environment then
        return "unknown"
    end
    local restartable = ckpt.restartable(environment, made._ckpt)
    return restartable == nil and "unknown" or restartable
end

-- The GPUs that a job which can resume from a checkpoint may be given, "1-8"; nil for none. Only the field that users cannot
-- write can say so.
function later.elastic(made)
    local name = made._elastic
    local environment = name and made.environment
    local range = environment and ckpt.range(environment[name])
    return range and made.restartable == true and range
end

-- Whether the user wants no soft limit for this job.
function later.plan_off(made)
    local environment = made._plan and made.environment
    return environment and environment[made._plan] == "off"
end

-- What the user says of more time: "auto", "off" or any other word; nil for none.
function later.extend(made)
    local environment = made._extend and made.environment
    return word(environment and environment[made._extend] or nil)
end

-- Takes off a request what it has of `later`, which is listed in its `_read`. Trap: a nil for a field that was not there takes
-- room, as a value does, and Lua 5.1 and 5.3 then make room in every call.
local function forget(made)
    local fields = made._read
    for i = #fields, 1, -1 do
        made[fields[i]], fields[i] = nil, nil
    end
end

-- What is not there is false, so that it is looked for once.
local LATER = {
    __index = function(made, field)
        local read = later[field]
        if not read then
            return nil
        end
        local value, fields = read(made, made._source) or false, made._read
        made[field] = value
        fields[#fields + 1] = field
        return value
    end,
}

local function limit_of(minutes)
    if minutes == nil or minutes == NO_VAL then
        return false, "unset"
    elseif minutes >= INFINITE then
        return false, "unlimited"
    end
    return minutes * 60, "finite"
end

local function time_min_of(minutes)
    if not minutes or minutes == NO_VAL or minutes <= 0 then
        return false
    end
    return minutes < NO_VAL and minutes * 60 or huge
end

-- Reads what nearly every decision looks at from `source` into `made`. `counted`: the GPUs of an older
-- job by Slurm's own count, a reading of gres.lua.
local function read(made, source, uid, by, now, site, counted)
    made._source = source
    made.now, made.uid, made.by = now or false, uid or false, by or false
    made.user = site.ruleset.needs_user and word(source.user_name) or false
    local partition, named, nodes, most = source.partition, source.req_nodes, source.min_nodes, source.max_nodes
    made.queues = partition and names[partition] or NONE
    made.limit, made.limit_kind = limit_of(source.time_limit)
    made.time_min = time_min_of(source.time_min)
    made.node_list = named ~= "" and named or false
    made.max_nodes = most and most < NO_VAL and most > 0 and most or false
    made.whole = job_size.is_whole(source)
    local of_cpu = source.min_mem_per_cpu
    made.min_mem_per_cpu = of_cpu and of_cpu > 0 and of_cpu or false
    job_size.read_tasks(made, source)
    local by_tasks = job_size.nodes_by_tasks(made, source)
    if not nodes or nodes >= NO_VAL or nodes <= 0 then
        -- 22.05 has set it to the nodes that are named; later ones choose among them
        nodes, made.nodes_by_tasks = by_tasks, by_tasks > 1
    else
        made.nodes_by_tasks = by_tasks > nodes
    end
    nodes = max(nodes, (job_size.nodes_by_features(source)))
    gpu_size.read(made, source, nodes, counted, site)
    return made
end

-- The job as it would be after the update, and as it is. job_rec has no environment: restartable stays unknown.
local function of_update(job_desc, job_rec, part_list, by, now, site)
    local uid = job_rec.user_id
    local after, job = resulting.of(job_desc, job_rec, site, function(source, counted)
        local made = setmetatable({ older = true, _read = {} }, LATER)
        return read(made, source, uid, nil, now, site, counted)
    end)
    after.by = by or false
    after._parts = part_list or false
    after.usable = part_list and usable_of(after) or false
    return after, job
end

-- Two functions that read requests as these tables (of ruleset.lua) need them, in this Slurm (`gres_slash`: of gres.lua); `by`
-- is the uid of who asks, `now` may be nil; `name` is the job's, nil where it was not looked at.
--
-- All submissions share one table, for a fresh one each would be most of a decision's garbage, which is what makes the slowest
-- decisions slow. It is read from job_desc as it is used, so it lasts as long as the call.
function request.reader(ruleset, gres_slash)
    local shares = ruleset.policy.gpu_shares
    local gpus_of = gres.reader(gres_slash, shares)
    local views = {}
    for _, name in ipairs({ "counts", "size", "pieces", "bodies" }) do
        views[name] = gres.view(gpus_of, name)
    end
    local site = { ruleset = ruleset, shares = shares, gpus_of = gpus_of, views = views, gres_slash = gres_slash }
    local plan = ruleset.soft and ruleset.soft.variable or false
    local extend = ruleset.extend and ruleset.extend.variable or false
    local ckpt_names = ruleset.policy.ckpt or false
    local elastic = ckpt_names and ruleset.record == "admin_comment" and ckpt_names.elastic or false
    local submitted = setmetatable({
        older = false, _read = {}, _ckpt = ckpt_names, _elastic = elastic, _plan = plan, _extend = extend,
    }, LATER)
    local usable, field = usable_of(submitted), ruleset.record
    if not ckpt_names then
        submitted.restartable = "unknown" -- whatever its environment
    end
    local reader = {}

    function reader.of_submission(job_desc, part_list, by, now, name)
        forget(submitted)
        submitted._parts, submitted.usable = part_list or false, part_list and usable or false
        if field then
            submitted[field] = word(job_desc[field]) or false
        end
        submitted.job_name = name and (name ~= "" and name or false)
        return read(submitted, job_desc, job_desc.user_id, by, now, site, nil)
    end

    function reader.of_update(job_desc, job_rec, part_list, by, now)
        return of_update(job_desc, job_rec, part_list, by, now, site)
    end

    return reader
end

return request
