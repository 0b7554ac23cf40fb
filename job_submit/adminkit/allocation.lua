-- What Slurm may allocate to a job: the fewest nodes it can run on, the most nodes, CPUs and GPUs it may be given, and the
-- class that follows from both: cpu, single-gpu, multi-gpu, multi-node.
--
-- A `job` is the part of a request that decisions change; `facts` are what the policy knows of a queue, or nil.
local need = ...
local gres = need("gres")
local text = need("text")

local allocation = {}

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
local NEAR, NONE = gres.NEAR, text.NONE

-- The job of a request. Its `nodes` and `class` are set by set_size(), its `most_nodes` by a rule that holds it to fewer. The
-- stages of a decision set the rest: `is_exempt` (decide.lua), `typed` and `planned` (soft.lua), `paid` (points.lua),
-- `extend` (extend.lua), `extends` (recording.lua).
function allocation.job_of(request)
    local limit = request.limit
    local kind = request.limit_kind or (limit and "finite" or "unset")
    return {
        limit = limit, kind = kind, asked_kind = kind, time_min = request.time_min, queues = request.queues or NONE,
        nodes = nil, class = nil, most_nodes = nil, is_exempt = nil, typed = nil, planned = nil, paid = nil,
        extend = nil, extends = nil,
    }
end

-- The nodes that a job's GPUs need at `node_gpus` a node, no fewer than it asks for.
local function nodes_by_gpus(request, node_gpus)
    local nodes, gpus = request.nodes, (request.counts or request).gpus
    if gpus and node_gpus and node_gpus > 0 and gpus > node_gpus then
        local needed = ceil(gpus / node_gpus)
        if not nodes or needed > nodes then
            return needed
        end
    end
    return nodes
end

-- The nodes that a job's CPUs need at `node_cpus` a node, with their memory at `node_mem` MiB a node; no fewer than `nodes`, no
-- more than the job says it takes.
local function nodes_by_cpus(request, nodes, node_cpus, node_mem)
    local cpus, of_cpu = request.min_cpus, node_mem and node_mem > 0 and request.min_mem_per_cpu
    if of_cpu then
        node_cpus = min(node_cpus or huge, max(1, floor(node_mem / of_cpu)))
    end
    if not node_cpus or node_cpus <= 0 or cpus <= nodes * node_cpus then
        return nodes
    end
    local needed, most = ceil(cpus / node_cpus), request.max_nodes
    return most and max(nodes, min(needed, most)) or needed
end

-- The fewest nodes of these GPUs, CPUs and MiB that the job can run on; nil where the request does not tell.
function allocation.least_nodes(request, node_gpus, node_cpus, node_mem)
    local nodes, gpus, cpus = request.nodes, (request.counts or request).gpus, request.min_cpus
    if gpus and gpus > 1 then
        nodes = nodes_by_gpus(request, node_gpus)
    end
    if cpus and cpus > 1 and nodes then
        nodes = nodes_by_cpus(request, nodes, node_cpus, node_mem)
    end
    return nodes
end

-- nil where the request does not tell.
local function class_of(nodes, gpus)
    if nodes and nodes > 1 then
        return "multi-node"
    end
    if not nodes or not gpus then
        return nil
    end
    if gpus <= 0 then
        return "cpu"
    end
    return gpus > 1 + NEAR and "multi-gpu" or "single-gpu" -- a slice or a shard is less than one
end
allocation.class_of = class_of

-- The largest of a fact of the job's queues; nil where none has it.
local function largest(fact, job, ruleset)
    local named, queues = job.queues, ruleset.facts
    local first = named[1] or ruleset.default
    local facts = first and queues[first]
    local most = facts and facts[fact]
    for i = 2, #named do
        facts = queues[named[i]]
        if facts and facts[fact] and facts[fact] > (most or 0) then
            most = facts[fact]
        end
    end
    return most
end

-- The fewest nodes of the job's queues that it can run on, whose GPUs are `node_gpus` a node.
local function least_nodes(job, request, ruleset, node_gpus)
    local node_cpus, node_mem
    if (request.min_cpus or 0) > 1 then
        node_cpus = largest("node_cpus", job, ruleset)
        node_mem = request.min_mem_per_cpu and largest("node_mem", job, ruleset)
    end
    return allocation.least_nodes(request, node_gpus, node_cpus, node_mem)
end

-- Sets the job's nodes and class, which depend on how large a node of its queues is.
function allocation.set_size(job, request, ruleset)
    local node_gpus = ((request.counts or request).gpus or 0) > 1 and largest("node_gpus", job, ruleset) or nil
    job.nodes = least_nodes(job, request, ruleset, node_gpus)
    job.class = class_of(job.nodes, request.gpus)
end

-- What does not depend on the nodes, and what each node adds at most. A whole node brings all it has; a job for which
-- this is "unknown" counts as one of whole nodes.
local parts_of = {}

function parts_of.nodes()
    return 0, 1
end

-- The GPUs of a queue's largest node, in GPUs: with slices of MIG they are fewer than Slurm counts.
local function size_of(facts)
    return facts and (facts.node_gpu_size or facts.node_gpus)
end

function parts_of.gpus(facts, request, whole)
    local fixed, each = request.gpus_fixed, request.gpus_each or 0
    if whole then
        each = max(each, size_of(facts) or huge)
    end
    return fixed or request.gpus, each
end

function parts_of.gpu_slices(facts, request, whole)
    local fixed, each = request.gpu_slices_fixed, request.gpu_slices_each or 0
    if whole then
        each = max(each, facts and facts.node_gpus and (facts.node_gpu_slices or 0) or huge)
    end
    return fixed or request.gpu_slices, each
end

function parts_of.cpus(facts, request, whole)
    local fixed = request.cpus_fixed
    local each = fixed and request.cpus_each or 0
    if whole then
        each = max(each, facts and facts.node_cpus or huge)
    end
    return fixed or request.cpus, each
end

function parts_of.gpus_per_node(facts, request, whole)
    local of_node, fixed = request.node_gpus_most, request.gpus_fixed
    local most = size_of(facts)
    if whole then
        return most or huge, 0
    elseif of_node then
        of_node = request.gpus_each == 0 and of_node or of_node + (fixed or 0)
        return of_node == huge and most or of_node, 0 -- the number of sockets is unknown: no more than a node has
    end
    return fixed and min(fixed, most or fixed), 0
end

local OF_GPUS = { gpus = true, gpus_per_node = true, gpu_slices = true }

-- Whether the job takes whole nodes in this queue: true, false or nil, or "unknown".
local function is_whole(facts, request)
    return request.whole or (facts and facts.whole)
end

-- The most nodes on which these GPUs stay as many as the job names; nil where that does not depend on the nodes.
function allocation.nodes_of_gpus(name, request)
    return OF_GPUS[name] and (request.counts or request).gpus_nodes or nil
end

local function most_by(whole, name, job, facts, request)
    local fixed, each = parts_of[name](facts, request, whole)
    local bound = OF_GPUS[name] and (request.counts or request).gpus_nodes
    if not fixed or (each == 0 and not bound) then
        return fixed
    end
    local nodes = job.most_nodes or request.most_nodes or request.max_nodes or job.nodes or 1
    if bound and nodes > bound and (request.older or not request.max_nodes) then
        return huge -- of a submission Slurm takes no more nodes than GPUs where it says how many it takes
    end
    local most = each * nodes
    return most > fixed and most or fixed
end

-- The most nodes, gpus, cpus or gpus_per_node (`name`) that Slurm may give the job: `huge` where that is unknown, nil where the
-- request does not show it.
function allocation.most(name, job, facts, request)
    return most_by(request.whole or (facts and facts.whole), name, job, facts, request)
end

-- The same, where "unknown" counts as no: of a job before and after an update it says nothing about the update.
function allocation.most_known(name, job, facts, request)
    local whole = is_whole(facts, request)
    return most_by(whole ~= "unknown" and whole, name, job, facts, request)
end

-- What the job gets on any number of nodes, and what each node adds at most; nil where the request does not show it.
function allocation.parts(name, facts, request)
    return parts_of[name](facts, request, is_whole(facts, request))
end

-- The same, where "unknown" counts as no.
function allocation.parts_known(name, facts, request)
    local whole = is_whole(facts, request)
    return parts_of[name](facts, request, whole ~= "unknown" and whole)
end

local ONE_NODE = { nodes = 1, most_nodes = 1 }

-- Whether a job whose request is of no class in `classes` may still be of one: true, false, or "spread" where only more nodes
-- than it needs would make it so.
local function may_be(classes, job, request, facts)
    if (job.nodes or 2) > 1 then
        return false
    end
    local gpus = allocation.most("gpus", ONE_NODE, facts, request) or 0
    if gpus > 1 + NEAR and classes["multi-gpu"] or (gpus > 0 and (request.gpus or 0) <= 1 + NEAR and classes["single-gpu"]) then
        return true
    end
    return classes["multi-node"] and allocation.most("nodes", job, facts, request) > 1 and "spread" or false
end
allocation.may_be = may_be

-- The classes that a job of the first may turn out to be of.
local OTHERS = {
    cpu = { ["single-gpu"] = true, ["multi-gpu"] = true, ["multi-node"] = true },
    ["single-gpu"] = { ["multi-gpu"] = true, ["multi-node"] = true },
    ["multi-gpu"] = { ["multi-node"] = true },
}

-- The GPUs that a job of a sure class has however Slurm reads its request; 0 where they may be fewer.
function allocation.sure_gpus(request)
    if request.gpus_of_sockets or request.ntasks_per_tres or (request.older and request.tres_per_task) then
        return 0 -- as in sure_class
    end
    return request.gpus or 0
end

-- The class that the job is of however Slurm reads its request, in each of its queues; nil where it may be another.
function allocation.sure_class(job, request, ruleset)
    local class, named = job.class, job.queues
    if (request.gpu_slices or 0) ~= 0 or (request.gpu_slices_fixed or 0) ~= 0 or (request.gpu_slices_each or 0) ~= 0 then
        return nil -- parts of GPUs are not parallel, however many they are
    end
    if class == nil or class == "multi-node" then
        -- 26.05 gave eight GPUs of one node for --gpus=9 with one task; 22.05 eight CPUs of 32 after an update to nine tasks;
        -- 24.11 one node for two tasks of one a node, where the client had named no nodes, or one.
        local by_gpus = class and (request.gpus or 0) > 1 and class_of(least_nodes(job, request, ruleset), 0) ~= class
        local by_cpus = class and (request.nodes_by_tasks or (request.older and (request.nodes or 0) < 2))
        local held = class and request.max_nodes and request.max_nodes < 2 -- 22.05 gave one node for GPUs of two
        return not by_gpus and not by_cpus and not held and class or nil
    end
    local of_tasks = request.ntasks_per_tres or (request.older and request.tres_per_task)
    if request.gpus_of_sockets or (of_tasks and class ~= "cpu") then
        return nil -- 24.11 and 26.05 gave jobs of such GPUs none and ran them; 22.05 fewer after an update
    end
    for i = 1, #named > 1 and #named or 1 do
        local queue = named[i] or ruleset.default
        if may_be(OTHERS[class], job, request, queue and ruleset.facts[queue] or nil) then
            return nil
        end
    end
    return class
end

return allocation
