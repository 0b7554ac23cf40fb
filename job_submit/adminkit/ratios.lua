-- The checks that hold what a job takes in proportion to its GPUs: CPUs, and MiB of memory, for each GPU. Their value is the
-- most. What cannot be told is more than any value; a job without GPUs keeps them.
local need = ...
local allocation = need("allocation")
local gres = need("gres")

local ratios = {}

local ceil, huge, max = math.ceil, math.huge, math.max

-- What falls to a GPU at most where the job takes the larger of `fixed` and `each` times its nodes; nil where the request does
-- not show it. The GPUs are the fewest, of the job and of each node.
local function share(fixed, each, job, facts, request)
    local gpus, of_node = request.gpus, request.gpus_per_node
    if not gpus or not fixed then
        return nil
    elseif gpus == 0 then
        return (allocation.most("gpus", job, facts, request) or 0) > 0 and huge or 0
    end
    local by_nodes = 0
    if each > 0 then
        by_nodes = of_node and of_node > 0 and each / of_node
            or each * (allocation.most("nodes", job, facts, request) or huge) / gpus
    end
    local most = max(fixed / gpus, by_nodes)
    return most < huge and ceil(most - gres.NEAR) or huge
end

-- ratio(job, facts, request, parts), by the name of the check; `parts` is of allocation.
local ratio = {}

function ratio.cpus_per_gpu(job, facts, request, parts)
    local fixed, each = parts("cpus", facts, request)
    return share(fixed, each, job, facts, request)
end

-- A job that names no memory gets what the site has set. Several kinds may be set, of which Slurm takes one: the largest
-- counts.
function ratio.mem_per_gpu(job, facts, request, parts)
    local of_gpu, of_node, of_cpu = request.mem_per_gpu, request.mem_per_node, request.min_mem_per_cpu
    if not (of_gpu or of_node or of_cpu) then
        if request.mem then
            return share(request.mem, 0, job, facts, request)
        end
        return not request.mem_unknown and 0 or nil
    end
    local most = of_gpu or 0
    if of_node then
        most = max(most, share(0, of_node, job, facts, request) or huge)
    end
    if of_cpu then
        local cpus = ratio.cpus_per_gpu(job, facts, request, parts)
        most = max(most, cpus and cpus < huge and cpus * of_cpu or huge)
    end
    return most
end

ratios.measure = {}
for name, of_job in pairs(ratio) do
    ratios.measure[name] = function(job, facts, request)
        return of_job(job, facts, request, allocation.parts)
    end
end

-- The ratio that breaks a rule of this value; `untold` for one that is unknown.
function ratios.comparison(untold)
    return function(most, _, value)
        if not most then
            return untold
        end
        return most > value and most or nil
    end
end

-- Whether a job of an update takes no more for each GPU than before: where it is unknown whether it took whole nodes, that says
-- nothing about the update.
function ratios.no_worse(name, after, request, before, job, facts)
    local now = ratio[name](after, facts, request, allocation.parts_known)
    local was = ratio[name](before, facts, job, allocation.parts_known)
    return now ~= nil and was ~= nil and was < huge and now <= was
end

return ratios
