-- The class of a job: cpu, single-gpu, multi-gpu, multi-node; nil where the request does not tell.
local classes = {}

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min

-- The fewest nodes a job can run on: what it asks for, or what its GPUs need at `node_gpus` a node.
function classes.least_nodes(request, node_gpus)
    local nodes, gpus = request.nodes, request.gpus
    if gpus and node_gpus and node_gpus > 0 and gpus > node_gpus then
        local needed = ceil(gpus / node_gpus)
        if not nodes or needed > nodes then
            return needed
        end
    end
    return nodes
end

-- The nodes that so many CPUs need, of `of_node` each, with their memory of `mem`; no more than the job says it takes.
function classes.nodes_for(cpus, nodes, of_node, mem, request)
    local of_cpu = mem and mem > 0 and request.min_mem_per_cpu
    if of_cpu then
        of_node = min(of_node or huge, max(1, floor(mem / of_cpu)))
    end
    if not of_node or of_node <= 0 or cpus <= nodes * of_node then
        return nodes
    end
    local needed, most = ceil(cpus / of_node), request.max_nodes
    return most and max(nodes, min(needed, most)) or needed
end

function classes.of(nodes, gpus)
    if nodes and nodes > 1 then
        return "multi-node"
    end
    if not nodes or not gpus then
        return nil
    end
    if gpus < 1 then
        return "cpu"
    end
    return gpus > 1 and "multi-gpu" or "single-gpu"
end

return classes
