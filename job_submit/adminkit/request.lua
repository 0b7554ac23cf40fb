-- Slurm's job_desc and job_rec as a request. What Slurm calls unset (nil, "", 65534, 4294967294) is absent here.
-- A field is read only where a policy can need it: each read costs Slurm a search, some a copy or a line in its log.
local need = ...
local ckpt = need("ckpt")
local gres = need("gres")

local request = {}

local ceil, huge, max = math.ceil, math.huge, math.max
local find, gmatch, lower, match = string.find, string.gmatch, string.lower, string.match

local NO_VAL16 = 65534
local NO_VAL = 4294967294
local INFINITE = 4294967295
local NICE_OFFSET = 2147483648
local PARTITION_UP = 3 -- state_up: jobs may be submitted and started

local STATES = { [0] = "PENDING", "RUNNING", "SUSPENDED" }

local function u16(value)
    if value and value < NO_VAL16 and value > 0 then
        return value
    end
    return nil
end

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

local function queues_of(partition)
    if not partition or partition == "" then
        return {}
    end
    if not find(partition, ",", 1, true) then
        return { partition }
    end
    local list, seen = {}, {}
    for name in gmatch(partition, "[^,]+") do
        name = match(name, "^%s*(.-)%s*$")
        if name ~= "" and not seen[name] then
            seen[name] = true
            list[#list + 1] = name
        end
    end
    return list
end

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

local function read_limit(made, minutes)
    if minutes == nil or minutes == NO_VAL then
        made.limit_kind = "unset"
    elseif minutes >= INFINITE then
        made.limit_kind = "unlimited"
    else
        made.limit, made.limit_kind = minutes * 60, "finite"
    end
end

local function read_time_min(made, minutes)
    if minutes == INFINITE then
        made.time_min = huge
    else
        minutes = u32(minutes)
        made.time_min = minutes and minutes * 60
    end
end

-- The GPUs of the whole job and of each node, as far as the request tells: --gpus, --gpus-per-node and --gres, per task, per
-- socket, and --ntasks-per-gpu. A job that names none has none.
local function read_gpus(made, source, tasks)
    local nodes = made.nodes
    local total, kind = gres.gpus(source.tres_per_job)
    local node, node_kind = gres.gpus(source.tres_per_node)
    local task, task_kind = gres.gpus(source.tres_per_task)
    local socket, socket_kind = gres.gpus(source.tres_per_socket)
    if total and node and node > 0 and nodes < total / node then
        nodes = ceil(total / node)
        made.nodes = nodes
    end
    if task then
        total = total or task * (tasks or nodes)
    end
    if socket then
        node = node or socket * (u16(source.sockets_per_node) or 1)
    end
    if not total and not node then
        local per_gpu = u16(source.ntasks_per_tres)
        total = per_gpu and tasks and ceil(tasks / per_gpu) or nil
    end
    made.gpus = max(total or 0, node and node * nodes or 0)
    made.gpus_per_node = node or (nodes == 1 and made.gpus) or nil
    made.gpu_type = kind or node_kind or task_kind or socket_kind
end

local function read_memory(made, source)
    local of_node = source.min_mem_per_node
    if of_node and of_node > 0 then
        made.mem = of_node * made.nodes
        return
    end
    local of_cpu = source.min_mem_per_cpu
    if of_cpu and of_cpu > 0 then
        made.mem = of_cpu * made.cpus
    elseif made.gpus > 0 then
        local of_gpu = gres.per_gpu(source.mem_per_tres)
        made.mem = of_gpu and of_gpu * made.gpus
    end
end

-- Size: the least the job asks for. clients fill min_cpus; num_tasks and --ntasks-per-node not in every release.
local function read_size(made, source)
    local tasks = u32(source.num_tasks)
    local per_node = u16(source.ntasks_per_node)
    local per_task = u16(source.cpus_per_task) or 1
    local nodes = u32(source.min_nodes)
    if not nodes then
        nodes = tasks and per_node and ceil(tasks / per_node) or 1
    end
    made.nodes = nodes
    made.max_nodes = u32(source.max_nodes)
    tasks = tasks or (per_node and per_node * nodes)
    read_gpus(made, source, tasks)
    made.cpus = max(u32(source.min_cpus) or 0, (tasks or 1) * per_task, made.nodes)
    read_memory(made, source)
end

-- Only a batch job has an environment; asking for that of another puts an error into slurmctld.log.
local function read_restartable(made, source, policy)
    local script = source.script
    made.batch = script ~= nil and script ~= ""
    local environment = made.batch and source.environment
    if environment and policy.ckpt then
        made.restartable = ckpt.restartable(environment, policy.ckpt)
    end
end

local function read(source, plan, now)
    local made = { now = now, uid = source.user_id, queues = queues_of(source.partition) }
    if plan.needs_user then
        made.user = word(source.user_name)
    end
    read_limit(made, source.time_limit)
    read_time_min(made, source.time_min)
    made.account = lowered(source.account)
    made.qos = lowered(source.qos)
    made.job_name = word(source.name)
    made.features = word(source.features)
    made.node_list = word(source.req_nodes)
    read_size(made, source)
    return made
end

-- The request of a submission by uid `by`.
function request.of_submission(job_desc, part_list, by, policy, plan, now)
    local made = read(job_desc, plan, now)
    parts = part_list
    made.usable = part_list and usable or nil
    made.by = by
    made.account = made.account or lowered(job_desc.default_account)
    made.qos_given = made.qos ~= nil
    made.qos = made.qos or lowered(job_desc.default_qos)
    made.reservation = word(job_desc.reservation)
    made.array = word(job_desc.array_inx)
    made.het_offset = job_desc.het_job_offset
    if made.het_offset and made.het_offset >= NO_VAL then
        made.het_offset = nil
    end
    local longest = plan.restartable_from
    if longest and (made.limit_kind ~= "finite" or made.limit > longest or (made.time_min or 0) > longest) then
        read_restartable(made, job_desc, policy)
    end
    local field = policy.record
    if field and field ~= "none" then
        made[field] = word(job_desc[field])
    end
    return made
end

-- What an update is about: a hold, a release, a new name and the like are none of these.
local POLICED = {
    numbers = { "time_limit", "time_min", "min_nodes", "max_nodes", "min_cpus", "num_tasks" },
    small = { "cpus_per_task", "ntasks_per_node" },
    words = {
        "partition", "account", "qos", "features", "reservation", "req_nodes",
        "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task",
    },
}

function request.is_policed(job_desc)
    for i = 1, #POLICED.numbers do
        local value = job_desc[POLICED.numbers[i]]
        if value and value ~= NO_VAL then
            return true
        end
    end
    for i = 1, #POLICED.words do
        if job_desc[POLICED.words[i]] then
            return true
        end
    end
    for i = 1, #POLICED.small do
        local value = job_desc[POLICED.small[i]]
        if value and value ~= NO_VAL16 then
            return true
        end
    end
    return false
end

local RENAMED = { reservation = "resv_name" } -- in job_rec

-- A job_rec under the names of job_desc.
local function record_view(job_rec)
    return setmetatable({}, {
        __index = function(_, field)
            return job_rec[RENAMED[field] or field]
        end,
    })
end

local SMALL = { cpus_per_task = true, ntasks_per_node = true, ntasks_per_tres = true, sockets_per_node = true }

-- What the update leaves of the job: its fields where they are set, the record's else. An empty text clears a field.
local function updated_view(job_desc, job_rec)
    return setmetatable({}, {
        __index = function(_, field)
            local value = job_desc[field]
            if value == nil or value == NO_VAL or (value == NO_VAL16 and SMALL[field]) then
                return job_rec[RENAMED[field] or field]
            end
            return value
        end,
    })
end

-- job_rec has no environment, so whether the job is restartable cannot be told.
local function read_job(source, job_rec, plan, now)
    local made = read(source, plan, now)
    made.uid = job_rec.user_id
    made.reservation = word(source.reservation)
    return made
end

-- The job as it would be after the update, and as it is.
function request.of_update(job_desc, job_rec, part_list, by, plan, now)
    local job = read_job(record_view(job_rec), job_rec, plan, now)
    local state = job_rec.job_state
    job.state = state and STATES[state % 256] or "OTHER"
    local array = job_rec.array_job_id
    job.array = array ~= nil and array ~= 0 and array < NO_VAL
    local points = job_rec.site_factor
    if points and points ~= NO_VAL then
        job.points = points >= NICE_OFFSET and points - NICE_OFFSET or points
    end
    local wanted = read_job(updated_view(job_desc, job_rec), job_rec, plan, now)
    parts = part_list
    wanted.usable = part_list and usable or nil
    wanted.by = by
    wanted.qos_given = job_desc.qos ~= nil
    return wanted, job
end

return request
