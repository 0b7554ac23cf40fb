-- How big a job is, in nodes, CPUs, memory and GPUs, as far as the fields of its job_desc or job_rec tell.
local need = ...
local gres = need("gres")

local job_size = {}

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
local find, gmatch, gsub, match = string.find, string.gmatch, string.gsub, string.match

local NO_VAL16 = 65534
local NO_VAL = 4294967294
local GPU_LISTS = { "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task" }

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
local function tasks_of(made, source, nodes)
    local tasks = made.num_tasks
    if tasks then
        return tasks
    end
    local per_node = u16(source.ntasks_per_node)
    return per_node and per_node * nodes
end

-- Lists that do not ask for the same type are about different GPUs, which come together.
local function joined(most, more, same)
    return same and max(most, more) or most + more
end

-- Whether Slurm may give none of the GPUs that a list asks for.
local function is_doubtful(gpus)
    return gpus.least == 0 and gpus.most > 0
end

-- GPUs by tasks, by sockets and by --ntasks-per-gpu, where neither the job nor its nodes have a number: the least of the job
-- and of each node, the most that does not depend on the nodes, the most of each node, their type, and whether a list is
-- doubtful. Trap: 26.05 gave no GPU for a list by sockets without --sockets-per-node, which job_rec does not show, and none for
-- gpu=4 on each of eight sockets.
local function gpus_by_parts(made, source, nodes, of_socket, read)
    local of_task, counted = made.tres_per_task, made.num_tasks
    local total, node, fixed, each, kind
    local doubtful = false
    if of_task then
        local gpus = read[of_task]
        if gpus.most then
            total, kind = gpus.least * (tasks_of(made, source, nodes) or nodes), gpus.types
            fixed = gpus.most == 0 and 0 or gpus.most * (counted or huge)
            doubtful = is_doubtful(gpus)
        end
    end
    if of_socket then
        local gpus = read[of_socket]
        if gpus.most then
            local has_sockets = made.older or u16(source.sockets_per_node)
            node, kind = has_sockets and gpus.least or 0, gpus.types or kind -- as few sockets as one may do
            each = gpus.most == 0 and 0 or huge -- a node may have more sockets than it says
            doubtful = doubtful or (each > 0 and node == 0)
            made.gpus_of_sockets = each > 0
        end
    end
    local per_gpu = made.ntasks_per_tres
    if per_gpu and not total and not node then -- Slurm works out how many tasks there are, where the job does not say
        total, fixed = counted and floor(counted / per_gpu) or 0, counted and ceil(counted / per_gpu) or huge
    end
    return total, node, fixed, each, kind, doubtful
end

-- The tasks, CPUs and GPUs by tasks that everything below looks at, into `made`.
function job_size.read_tasks(made, source)
    local tasks, cpus, per_gpu, list = source.num_tasks, source.min_cpus, source.ntasks_per_tres, source.tres_per_task
    made.num_tasks = tasks and tasks < NO_VAL and tasks > 0 and tasks or false
    made.min_cpus = cpus and cpus < NO_VAL and cpus > 0 and cpus or false
    made.cpus_per_task = false
    made.ntasks_per_tres = per_gpu and per_gpu < NO_VAL16 and per_gpu > 0 and per_gpu or false
    made.tres_per_task = list ~= "" and list or false
end

-- Nodes and GPUs as far as the source tells, into `made`: `nodes`, `gpus` and `gpus_per_node` are the least; no more than the
-- larger of `gpus_fixed` and `gpus_each` times the nodes are taken. `counted` is Slurm's own count of an older job: one that
-- names no GPUs has that many, and one that names fewer has an unknown number. `read` is of gres.reader.
function job_size.read_gpus(made, source, nodes, counted, read)
    local of_job, of_node, of_socket = source.tres_per_job, source.tres_per_node, source.tres_per_socket
    local total, node, fixed, each, kind, node_kind
    local doubtful = false
    made.gpus_of_sockets = false
    if of_job and of_job ~= "" then
        local gpus = read[of_job]
        total, fixed, kind = gpus.least, gpus.most, gpus.types
        doubtful = is_doubtful(gpus)
    end
    if of_node and of_node ~= "" then
        local gpus = read[of_node]
        node, each, node_kind = gpus.least, gpus.most, gpus.types
        doubtful = doubtful or (node == 0 and each > 0)
        if total and each == 0 then
            node, each = nil, nil -- gpu=0 takes nothing away from --gpus
        end
    end
    if total and node and node > 0 and nodes < total / node and kind == node_kind then
        nodes = ceil(total / node)
    end
    local total_by, node_by, fixed_by, each_by, kind_by, doubtful_by
    of_socket = of_socket ~= "" and of_socket
    if of_socket or made.tres_per_task or made.ntasks_per_tres then
        total_by, node_by, fixed_by, each_by, kind_by, doubtful_by = gpus_by_parts(made, source, nodes, of_socket, read)
    end
    if not fixed and not each then
        total, node, fixed, each, kind = total_by, node_by, fixed_by, each_by, kind_by
        if counted and not fixed and not each then
            total, fixed = counted < huge and counted or 0, counted
        end
    elseif fixed_by or each_by then
        total = total and total_by and min(total, total_by) or total -- 26.05 gives what the tasks ask for
        local same = (kind or node_kind) == kind_by
        fixed = fixed_by and joined(fixed or 0, fixed_by, same) or fixed
        each = each_by and joined(each or 0, each_by, same) or each
    end
    doubtful = doubtful or doubtful_by
    if doubtful then -- nor is it known what Slurm makes of the other lists
        total, node = total and 0, node and 0
    end
    if counted and counted > max(fixed or 0, (each or 0) * nodes) then
        each = huge
    end
    local gpus = node and node * nodes or 0
    if total and total > gpus then
        gpus = total
    end
    -- GPUs of the job, --gpus, are on one node only where the job takes no more: Slurm spreads them else.
    if not node and ((fixed or 0) == 0 or made.max_nodes == 1) then
        node = gpus
    end
    if fixed and each and kind == node_kind and not doubtful then
        made.gpus_each = 0 -- --gpus says how many there are of all
    else
        made.gpus_each = each or 0
    end
    made.nodes, made.gpus, made.gpus_per_node, made.gpu_type = nodes, gpus, node or false, kind or node_kind or false
    made.gpus_fixed, made.node_gpus_most = fixed or 0, each or false
end

-- The GPUs of a job by Slurm's own count, which also has those of --ntasks-per-gpu and those that an update left; nil for none.
function job_size.counted_gpus(job_rec)
    local counted = job_rec.tres_fmt_req_str
    return counted and gres.requested(counted)
end

-- Whether an update surely sets how many GPUs the job has. Trap: a list without a number that Slurm knows, gres/gpu:0 on
-- 22.05, takes the place of the words, not of the GPUs.
function job_size.names_gpus(job_desc, read)
    for i = 1, #GPU_LISTS do
        local list = job_desc[GPU_LISTS[i]]
        if list and (read[list].least or 0) > 0 then
            return true
        end
    end
    return false
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

-- The nodes that so many tasks of a node need; where the job says that it takes fewer, 26.05 puts more tasks on each.
function job_size.nodes_by_tasks(made, source)
    local tasks, per_node = made.num_tasks, u16(source.ntasks_per_node)
    return tasks and per_node and min(ceil(tasks / per_node), made.max_nodes or huge) or 1
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
    most = max(nodes, tasks, by_cpus, made.gpus_fixed)
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
    local nodes, gpus, asked, counted = made.nodes, made.gpus, made.min_cpus, made.num_tasks
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
    local each, of_gpus = per_task * (per_node or 1), made.ntasks_per_tres
    if of_node > each then
        each = of_node
    end
    if of_gpus then
        per_gpu = max(per_gpu or 0, of_gpus * per_task)
    end
    if per_gpu and made.gpus_fixed > 0 then
        fixed = max(fixed, per_gpu * made.gpus_fixed)
    end
    if per_gpu and (made.node_gpus_most or 0) > 0 then
        each = max(each, per_gpu * made.node_gpus_most)
    end
    return least, fixed, each
end

-- MiB of each node that it asks for, `huge` for all that a node has: --mem=0; nil where it names none. Trap: job_rec has 0
-- where none was named, too, so of an update 0 counts where the update names it.
function job_size.mem_per_node(made, source)
    local mem, of_cpu = source.min_mem_per_node, source.min_mem_per_cpu
    if mem and mem > 0 then
        return mem
    end
    local all = mem == 0 or of_cpu == 0
    return all and (not made.older or made.names_mem) and huge or nil
end

-- MiB for each GPU, --mem-per-gpu.
function job_size.mem_per_gpu(_, source)
    return gres.per_gpu(source.mem_per_tres)
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
    local of_gpu = made.gpus > 0 and gres.per_gpu(source.mem_per_tres)
    return of_gpu and of_gpu * made.gpus or nil
end

return job_size
