-- How big a job is, in nodes, CPUs, memory and GPUs, as far as the fields of its job_desc or job_rec tell.
local need = ...
local gres = need("gres")

local sizes = {}

local ceil, max = math.ceil, math.max
local gmatch, gsub, match = string.gmatch, string.gsub, string.match

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

-- Clients do not fill num_tasks for --ntasks-per-node in every release.
local function tasks_of(source, nodes)
    local tasks = source.num_tasks
    if tasks and tasks < NO_VAL and tasks > 0 then
        return tasks
    end
    local per_node = u16(source.ntasks_per_node)
    return per_node and per_node * nodes
end

-- Nodes, then the GPUs of the whole job and of each node, and their type, as far as the request tells: --gpus, --gpus-per-node
-- and --gres, per task, per socket, and --ntasks-per-gpu. A job that names none has none.
function sizes.gpus(source, nodes)
    local of_job, of_node = source.tres_per_job, source.tres_per_node
    local total, kind, node, node_kind
    if of_job then
        local found = gres.read[of_job]
        total, kind = found.total, found.types
    end
    if of_node then
        local found = gres.read[of_node]
        node, node_kind = found.total, found.types
    end
    if total and node and node > 0 and nodes < total / node then
        nodes = ceil(total / node)
    end
    local tasks
    if not total and not node then
        tasks = tasks_of(source, nodes)
        total, kind = gres.gpus(source.tres_per_task)
        total = total and total * (tasks or nodes)
        node, node_kind = gres.gpus(source.tres_per_socket)
        node = node and node * (u16(source.sockets_per_node) or 1)
    end
    if not total and not node and tasks then
        local per_gpu = u16(source.ntasks_per_tres)
        total = per_gpu and ceil(tasks / per_gpu)
    end
    local gpus = node and node * nodes or 0
    if total and total > gpus then
        gpus = total
    end
    -- GPUs of the job, --gpus, are on one node only where the job takes no more: Slurm spreads them else.
    if not node and (gpus == 0 or source.max_nodes == 1) then
        node = gpus
    end
    return nodes, gpus, node, kind or node_kind
end

local function numbers_in(ranges)
    local count = 0
    for part in gmatch(ranges, "[^,]+") do
        local first, last = match(part, "^(%d+)%-(%d+)$")
        count = count + (first and max(0, tonumber(last) - tonumber(first) + 1) or 1)
    end
    return "*" .. count .. "*"
end

-- How many nodes a list such as n[1-3],m names. Slurm takes all of them, whatever --nodes says, but only after the script.
function sizes.nodes_named(list)
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

function sizes.nodes_by_tasks(source)
    local tasks, per_node = u32(source.num_tasks), u16(source.ntasks_per_node)
    return tasks and per_node and ceil(tasks / per_node) or 1
end

-- The CPUs of the whole job, the least it asks for. --exclusive takes whole nodes: of how many CPUs, nobody knows yet.
function sizes.cpus(made, source)
    local nodes, per_task, least = made.nodes, source.cpus_per_task, source.min_cpus
    local cpus = tasks_of(source, nodes) or 1
    if per_task and per_task < NO_VAL16 and per_task > 0 then
        cpus = cpus * per_task
    end
    if least and least < NO_VAL and least > cpus then
        cpus = least
    end
    local of_node = u16(source.pn_min_cpus) or 1
    if of_node * nodes > cpus then
        cpus = of_node * nodes
    end
    local of_gpu = made.gpus > 0 and gres.per_gpu(source.cpus_per_tres)
    if of_gpu and of_gpu * made.gpus > cpus then
        cpus = of_gpu * made.gpus
    end
    return cpus
end

-- The memory of the whole job, MiB; nil where it asks for none.
function sizes.mem(made, source)
    local of_node = source.min_mem_per_node
    if of_node and of_node > 0 then
        return of_node * made.nodes
    end
    local of_cpu = source.min_mem_per_cpu
    if of_cpu and of_cpu > 0 then
        return of_cpu * made.cpus
    end
    local of_gpu = made.gpus > 0 and gres.per_gpu(source.mem_per_tres)
    return of_gpu and of_gpu * made.gpus or nil
end

return sizes
