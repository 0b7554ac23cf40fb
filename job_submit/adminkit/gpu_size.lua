-- How many GPUs a job asks for and may be given, and how many parts of GPUs: slices of MIG, shards, MPS.
local need = ...
local gres = need("gres")
local job_size = need("job_size")

local gpu_size = {}

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
local find = string.find

local GPU_LISTS = { "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task" }

-- Lists that do not ask for the same type are about different GPUs, which come together.
local function joined(most, more, same)
    return same and max(most, more) or most + more
end

-- Whether Slurm may give none of the GPUs that a list asks for.
local function is_doubtful(gpus)
    return gpus.least == 0 and gpus.most > 0
end

-- The tasks that a submission for these nodes may get: one on each node that it has to take. false where it says none.
local function tasks_placed(made, source, nodes)
    local tasks, named = made.num_tasks, source.req_nodes
    if not tasks or made.older then
        return tasks
    end
    named = named and named ~= "" and min(job_size.nodes_named(named), made.max_nodes or huge) or 1
    local _, counted = job_size.nodes_by_features(source)
    return max(tasks, nodes, named, made.max_nodes and 1 or counted)
end

-- GPUs by tasks, by sockets and by --ntasks-per-gpu, where neither the job nor its nodes have a number: the least of the job
-- and of each node, the most that does not depend on the nodes, the most of each node, their type, and whether a list is
-- doubtful. Trap: 26.05 gave no GPU for a list by sockets without --sockets-per-node, which job_rec does not show, and none for
-- gpu=4 on each of eight sockets.
local function gpus_by_parts(made, source, nodes, of_socket, read)
    local of_task, counted = made.tres_per_task, tasks_placed(made, source, nodes)
    local total, node, fixed, each, kind
    local doubtful = false
    if of_task then
        local gpus = read[of_task]
        if gpus.most then
            total, kind = gpus.least * (job_size.tasks_of(made, source, nodes) or nodes), gpus.types
            -- Beside --ntasks-per-gpu, which no client asks for with it, 24.11 starts as many tasks as it likes.
            local both = made.ntasks_per_tres
            fixed = gpus.most == 0 and 0 or gpus.most * (not both and counted or huge)
            doubtful = is_doubtful(gpus) or (both and fixed > 0)
        end
    end
    if of_socket then
        local gpus = read[of_socket]
        if gpus.most then
            local has_sockets = made.older or job_size.u16(source.sockets_per_node)
            node, kind = has_sockets and gpus.least or 0, gpus.types or kind -- as few sockets as one may do
            each = gpus.most == 0 and 0 or huge -- a node may have more sockets than it says
            doubtful = doubtful or (each > 0 and node == 0)
            made.gpus_of_sockets = each > 0
        end
    end
    local per_gpu = made.ntasks_per_tres
    if per_gpu and (fixed or 0) == 0 and (each or 0) == 0 then
        doubtful = doubtful or fixed ~= nil or each ~= nil -- beside a list of none 26.05 gives them
        -- Slurm works out how many tasks there are, where the job does not say.
        total, fixed = counted and floor(counted / per_gpu) or 0, counted and ceil(counted / per_gpu) or huge
        node, each = nil, nil
    end
    return total, node, fixed, each, kind, doubtful
end

-- The types of two lists; nil for none.
local function of_types(one, other)
    if one and other and one ~= other then
        return one .. "," .. other
    end
    return one or other
end

-- The most nodes on which GPUs that are the job's, and no node's, stay as many as they are: 22.05 gives every GPU of the nodes
-- where there are more nodes than GPUs. It looks at each type by itself, of which there may be one. false where a node has a
-- number, or there are none.
local function nodes_of_job(least, fixed, each, kind)
    if (fixed or 0) <= 0 or (each or 0) > 0 then
        return false
    end
    return kind and find(kind, ",", 1, true) and 1 or (least or 0) > 0 and least or fixed
end

-- Nodes and GPUs as far as the source tells, into `made`: `nodes`, `gpus` and `gpus_per_node` are the least; no more than the
-- larger of `gpus_fixed` and `gpus_each` times the nodes are taken, on no more nodes than `gpus_nodes`. `counted` is Slurm's
-- own count of an older job: one that names no GPUs has no more than that, one that names fewer has an unknown number.
-- `read` is of gres.reader, or a view of it. Returns true where a list names parts of GPUs.
local function count(made, source, nodes, counted, read)
    local of_job, of_node, of_socket = source.tres_per_job, source.tres_per_node, source.tres_per_socket
    local total, node, fixed, each, kind, node_kind
    local doubtful, parts = false, false
    made.gpus_of_sockets = false
    if of_job and of_job ~= "" then
        local gpus = read[of_job]
        total, fixed, kind, parts = gpus.least, gpus.most, gpus.types, gpus.parts
        doubtful = is_doubtful(gpus)
    end
    if of_node and of_node ~= "" then
        local gpus = read[of_node]
        node, each, node_kind = gpus.least, gpus.most, gpus.types
        doubtful = doubtful or (node == 0 and each > 0)
        parts = parts or gpus.parts
        if total and each == 0 then
            node, each = nil, nil -- gpu=0 takes nothing away from --gpus
        end
    end
    if total and node and node > 0 and nodes < total / node and kind == node_kind then
        nodes = ceil(total / node)
    end
    local is_of_job = (fixed or 0) > 0
    local total_by, node_by, fixed_by, each_by, kind_by, doubtful_by
    of_socket = of_socket ~= "" and of_socket
    if of_socket or made.tres_per_task or made.ntasks_per_tres then
        total_by, node_by, fixed_by, each_by, kind_by, doubtful_by = gpus_by_parts(made, source, nodes, of_socket, read)
        parts = parts or (of_socket and read[of_socket].parts) or (made.tres_per_task and read[made.tres_per_task].parts)
    end
    if not fixed and not each then
        total, node, fixed, each, kind = total_by, node_by, fixed_by, each_by, kind_by
        if counted and not fixed and not each then
            total, fixed = 0, counted -- Slurm counts those of a list that was taken away, too
            if made.num_tasks then
                fixed = huge -- of --ntasks-per-gpu, which the tasks of an update make more of in the next run
            end
        end
    elseif fixed_by or each_by then
        total = total and total_by and min(total, total_by) or total -- 26.05 gives what the tasks ask for
        local same = (kind or node_kind) == kind_by
        fixed = fixed_by and joined(fixed or 0, fixed_by, same) or fixed
        each = each_by and joined(each or 0, each_by, same) or each
    end
    -- More GPUs of each node than of the job is what Slurm refuses, but not in every update: it gave those of the job.
    local crossed = total and node and total > 0 and node > total and kind == node_kind
    doubtful = doubtful or doubtful_by or crossed
    if doubtful then -- nor is it known what Slurm makes of the other lists
        total, node = total and 0, node and 0
    end
    made.gpus_nodes = nodes_of_job(total, fixed, kind == node_kind and each or 0, kind)
    if counted and counted > max(fixed or 0, (each or 0) * nodes) + gres.NEAR then
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
    -- 26.05 gave a job of --gpus=2 four for a list by sockets that came later, 24.11 one of --gpus=1 four for tasks of a node.
    if is_of_job and each and kind == node_kind and not doubtful and not each_by then
        made.gpus_each = 0 -- --gpus says how many there are of all
    elseif fixed and each and each > 0 and kind ~= node_kind then
        made.gpus_each = each + fixed -- of other types, they come together
    else
        made.gpus_each = each or 0
    end
    made.nodes, made.gpus, made.gpus_per_node = nodes, gpus, node or false
    made.gpu_type = of_types(of_types(kind, node_kind), kind_by) or false
    made.gpus_fixed, made.node_gpus_most = fixed or 0, each or false
    return parts
end

-- What a job of parts of GPUs has by another way of counting: a request with these GPUs, else as `made`.
local function viewed(name, made, source, nodes, counted, site)
    local view = {
        num_tasks = made.num_tasks, tres_per_task = made.tres_per_task, ntasks_per_tres = made.ntasks_per_tres,
        max_nodes = made.max_nodes, older = made.older,
    }
    count(view, source, nodes, counted and gres.by(name, counted).most, site.views[name])
    return setmetatable(view, { __index = made })
end

-- Nodes and GPUs into `made`, as count() has them. For a job with slices, shards or MPS, GPUs are what the parts make; it has
-- `counts`, its GPUs as Slurm counts them, by which they are placed, and `bodies`, each part as a GPU; and `gpu_slices`, the
-- least number of parts, with the most in `gpu_slices_fixed` and `gpu_slices_each`, as of GPUs. `counted` is a reading.
function gpu_size.read(made, source, nodes, counted, site)
    local parts = count(made, source, nodes, counted and counted.most, site.gpus_of)
    made.counts, made.bodies = false, false
    made.gpu_slices, made.gpu_slices_fixed, made.gpu_slices_each = 0, 0, 0
    if not parts and not (counted and counted.parts) then
        return
    end
    local needed, kind = made.nodes, made.gpu_type
    local counts = viewed("counts", made, source, nodes, counted, site)
    local bodies = viewed("bodies", made, source, nodes, counted, site)
    local pieces = viewed("pieces", made, source, nodes, counted, site)
    count(made, source, nodes, counted and gres.by("size", counted).most, site.views.size)
    made.nodes, made.gpu_type, made.counts, made.bodies = needed, kind, counts, bodies
    made.gpu_slices, made.gpu_slices_fixed, made.gpu_slices_each = pieces.gpus, pieces.gpus_fixed, pieces.gpus_each
end

-- The GPUs of a job by Slurm's own count, a reading, which also has those of --ntasks-per-gpu and those that an update left.
-- nil for none.
function gpu_size.counted(job_rec, shares)
    local counted = job_rec.tres_fmt_req_str
    return counted and gres.requested(counted, shares)
end

-- Whether the job's record has a list of what may be GPUs.
function gpu_size.has_list(job_rec)
    for i = 1, #GPU_LISTS do
        if (job_rec[GPU_LISTS[i]] or "") ~= "" then
            return true
        end
    end
    return false
end

-- Whether an update surely sets how many GPUs the job has. Trap: a list without a number that Slurm knows, gres/gpu:0 on
-- 22.05, takes the place of the words, not of the GPUs.
function gpu_size.is_named(job_desc, site)
    local read = site.views.size
    for i = 1, #GPU_LISTS do
        local list = job_desc[GPU_LISTS[i]]
        if list and (read[list].least or 0) > 0 then
            return true
        end
    end
    return false
end

-- The GPUs of a list, nil for none.
local function gpus_in(list, site)
    local gpus = list and list ~= "" and site.gpus_of[list]
    return gpus and (gpus.most or 0) > 0 and gpus or nil
end

-- Whether an update names GPUs of another type than the job has: before 23.11 Slurm gives such a job both, and shows the new
-- type only.
function gpu_size.leaves_type(job_desc, job_rec, site)
    if site.gres_slash then
        return false
    end
    for i = 1, #GPU_LISTS do
        local now, before = gpus_in(job_desc[GPU_LISTS[i]], site), gpus_in(job_rec[GPU_LISTS[i]], site)
        if now and before and now.types ~= before.types then
            return true
        end
    end
    return false
end

return gpu_size
