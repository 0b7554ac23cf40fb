-- How big a job is, in nodes, CPUs and memory, as far as the fields of its job_desc or job_rec tell; gpu_size.lua has its GPUs.
local need = ...
local gres = need("gres")

local job_size = {}

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
local find, gmatch, gsub, match = string.find, string.gmatch, string.gsub, string.match

local NO_VAL16 = 65534
local NO_VAL = 4294967294

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

job_size.u16 = u16

-- Clients do not fill num_tasks for --ntasks-per-node in every release.
local function tasks_of(made, source, nodes)
    local tasks = made.num_tasks
    if tasks then
        return tasks
    end
    local per_node = u16(source.ntasks_per_node)
    return per_node and per_node * nodes
end
job_size.tasks_of = tasks_of

-- The tasks, CPUs and GPUs by tasks that everything below looks at, into `made`.
function job_size.read_tasks(made, source)
    local tasks, cpus, per_gpu, list = source.num_tasks, source.min_cpus, source.ntasks_per_tres, source.tres_per_task
    made.num_tasks = tasks and tasks < NO_VAL and tasks > 0 and tasks or false
    made.min_cpus = cpus and cpus < NO_VAL and cpus > 0 and cpus or false
    made.cpus_per_task = false
    made.ntasks_per_tres = per_gpu and per_gpu < NO_VAL16 and per_gpu > 0 and per_gpu or false
    made.tres_per_task = list ~= "" and list or false
end

local function numbers_in(ranges)
    local count = 0
    for part in gmatch(ranges, "[^,]+") do
        local first, last = match(part, "^(%d+)%-(%d+)$")
        count = count + (first and max(0, tonumber(last) - tonumber(first) + 1) or 1)
    end
    return "*" .. count .. "*"
end

local MOST_BYTES = 65536 -- Slurm refuses a longer list of nodes

-- How many nodes a list such as n[1-3],m names.
function job_size.nodes_named(list)
    if #list > MOST_BYTES then
        return huge
    end
    local count = 0
    for name in gmatch(gsub(list, "%[([^%[%]]*)%]", numbers_in), "[^,]+") do
        local of_name = 1
        for factor in gmatch(name, "%*([^*]+)%*") do
            of_name = of_name * (tonumber(factor) or 1)
        end
        count = count + of_name
    end
    return count
end

-- The nodes that the job's tasks need, at its tasks per node; where the job takes fewer, 26.05 puts more tasks on each.
function job_size.nodes_by_tasks(made, source)
    local tasks = made.num_tasks
    local per_node = tasks and tasks > 1 and u16(source.ntasks_per_node)
    return per_node and min(ceil(tasks / per_node), made.max_nodes or huge) or 1
end

-- The fewest and the most nodes of a list of features with counts, [odd*2&even*2]: Slurm gives no fewer, whatever else the job
-- says of its nodes.
local function nodes_counted(list)
    if not list or not find(list, "*", 1, true) then
        return 0, 0
    end
    local sum, largest = 0, 0
    for count in gmatch(list, "%*([^%*&|%[%]%(%),]*)") do
        local number = match(count, "^%d%d?%d?%d?%d?%d?$")
        if not number then
            return largest, huge -- Slurm may read a number there
        end
        sum, largest = sum + tonumber(number), max(largest, tonumber(number))
    end
    return find(list, "|", 1, true) and largest or sum, sum
end

-- The same of what the job needs and of what it prefers.
function job_size.nodes_by_features(source)
    local least, most = nodes_counted(source.features)
    local _, preferred = nodes_counted(source.prefer)
    return least, max(most, preferred)
end

local SPREAD_JOB, USE_MIN_NODES = 2 ^ 8, 2 ^ 9 -- bits of bitflags

local function has_bit(flags, bit)
    return flags and floor(flags / bit) % 2 == 1
end

-- `bitflags` with which Slurm takes as few nodes as it can although the job allows more; nil where they say so already.
function job_size.fewest_nodes(flags)
    if not flags or has_bit(flags, USE_MIN_NODES) then
        return nil
    end
    return flags + USE_MIN_NODES
end

-- The CPUs of each task and the most of the job, false for unset. They are read once, into `made`.
local function cpus_asked(made, source)
    local per_task, more = made.cpus_per_task, made.tres_per_task
    if not per_task then
        per_task = u16(source.cpus_per_task) or 1
        if more and find(more, "cpu", 1, true) then
            per_task = max(per_task, gres.cpus[more])
        end
        made.cpus_per_task, made.max_cpus = per_task, u32(source.max_cpus) or false
    end
    return per_task, made.max_cpus
end

-- The most nodes the job takes: what it says, else as many as it has tasks. `huge` where that is unknown: --spread-job, a list
-- of nodes by switch{} or block{}, GPUs by tasks whose number Slurm works out, an older job, which shows no tasks.
function job_size.most_nodes(made, source)
    local most, nodes = made.max_nodes, made.nodes
    local named, tasks = made.node_list, made.num_tasks
    if named and find(named, "{", 1, true) then
        return huge
    end
    if made.older and tasks then
        return max(most or 0, nodes, tasks) -- 26.05 takes this for the most, whatever max_nodes says in the same update
    end
    if most then
        return max(most, nodes)
    end
    local per_task, most_cpus = cpus_asked(made, source)
    if made.older or made.ntasks_per_tres or most_cpus or has_bit(source.bitflags, SPREAD_JOB) then
        return huge
    end
    if not tasks then
        if made.tres_per_task and made.gpus_fixed > 0 then
            return huge
        end
        tasks = tasks_of(made, source, nodes) or 1
    end
    local by_cpus = ceil((made.min_cpus or 1) / per_task)
    local _, counted = job_size.nodes_by_features(source)
    most = max(nodes, tasks, by_cpus, (made.counts or made).gpus_fixed, counted)
    return named and max(most, job_size.nodes_named(named)) or most
end

-- Whether the job takes whole nodes, whatever it asks for: --exclusive, or a reboot. Nodes of one user (2) or label (3) do not.
function job_size.is_whole(source)
    local shared = source.shared
    if shared and (shared == 0 or (shared > 3 and shared < NO_VAL16)) then
        return true
    end
    local reboot = source.reboot
    return reboot ~= nil and reboot > 0 and reboot < NO_VAL16
end

-- The CPUs of the whole job: the least it asks for; as with GPUs, the most that do not depend on the nodes, and the most of
-- each node. --overcommit, which no field shows, leaves min_cpus low.
function job_size.cpus(made, source)
    local nodes, asked, counted = made.nodes, made.min_cpus, made.num_tasks
    local of_gres = made.counts or made -- Slurm brings CPUs for a slice as for a GPU
    local gpus = of_gres.gpus
    local per_task, most = cpus_asked(made, source)
    local per_node = u16(source.ntasks_per_node)
    local of_node, brought = u16(source.pn_min_cpus) or 1, source.cpus_per_tres
    local per_gpu = brought and gres.per_gpu(brought)
    local tasks = counted or (per_node and per_node * nodes) or 1
    local least, fixed = tasks * per_task, per_task * (counted or 1)
    if asked and (asked < tasks or asked > least) then
        least = asked
    end
    least = of_node * nodes > least and of_node * nodes or least
    if per_gpu and gpus > 0 and per_gpu * gpus > least then
        least = per_gpu * gpus
    end
    if asked and asked > fixed then
        fixed = asked
    end
    if most and most > fixed then
        fixed = most
    end
    if made.older and not counted and source.sets_cpus_per_task then
        fixed = huge -- 22.05 makes CPUs of its tasks, however few CPUs a former update left
    end
    local each, of_gpus = per_task * (per_node or 1), made.ntasks_per_tres
    if of_node > each then
        each = of_node
    end
    if of_gpus then
        per_gpu = max(per_gpu or 0, of_gpus * per_task)
    end
    if per_gpu and of_gres.gpus_fixed > 0 then
        fixed = max(fixed, per_gpu * of_gres.gpus_fixed)
    end
    if per_gpu and (of_gres.node_gpus_most or 0) > 0 then
        each = max(each, per_gpu * of_gres.node_gpus_most)
    end
    return least, fixed, each
end

-- MiB of each node that it asks for, `huge` for all that a node has: --mem=0; nil where it names none. An older job that named
-- none has what the site gives, which is all of it where that is 0.
function job_size.mem_per_node(_, source)
    local mem, of_cpu = source.min_mem_per_node, source.min_mem_per_cpu
    if mem and mem > 0 then
        return mem
    end
    return (mem == 0 or of_cpu == 0) and huge or nil
end

-- MiB for each GPU, --mem-per-gpu, which Slurm gives for a slice as for a GPU.
function job_size.mem_per_gpu(made, source)
    local mib, counts = gres.per_gpu(source.mem_per_tres), made.counts
    if not mib or not counts or counts.gpus == 0 then
        return mib
    end
    return made.gpus > 0 and gres.tidy(mib * counts.gpus / made.gpus) or huge
end

-- The memory of the whole job, MiB; nil where it asks for none.
function job_size.mem(made, source)
    local of_node = source.min_mem_per_node
    if of_node and of_node > 0 then
        return of_node * made.nodes
    end
    local of_cpu = made.min_mem_per_cpu
    if of_cpu then
        return of_cpu * made.cpus
    end
    local gpus = (made.counts or made).gpus
    local of_gpu = gpus > 0 and gres.per_gpu(source.mem_per_tres)
    return of_gpu and of_gpu * gpus or nil
end

return job_size
