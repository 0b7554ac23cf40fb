-- The class of a job: cpu, single-gpu, multi-gpu, multi-node; nil where the request does not tell.
local classes = {}

local ceil = math.ceil

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
