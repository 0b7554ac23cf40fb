-- Which queue takes a job. Only facts that Slurm checks too, and the rules of the policy, count; doubt is said, not guessed.
local need = ...
local bounds = need("bounds")
local classes = need("classes")
local text = need("text")

local route = {}

local ceil, huge, max = math.ceil, math.huge, math.max
local find, gmatch = string.find, string.gmatch
local class_of, least_nodes, nodes_for, keeps = classes.of, classes.least_nodes, classes.nodes_for, bounds.keeps

local DOUBT = nil

-- true, false or nil (in doubt): whether sets of names let `name` in. At least one of them is there.
local function admitted(allowed, denied, name)
    if not name then
        return DOUBT
    end
    local names = find(name, ",", 1, true) and text.names[name] -- of QOS, each of which has to be let in
    if names then
        for i = 1, #names do
            if (allowed and not allowed[names[i]]) or (denied and denied[names[i]]) then
                return false
            end
        end
        return true
    end
    if allowed then
        return allowed[name] == true
    end
    return not denied[name]
end

-- The names of a constraint: `a&b` and `a,b` need each, `a|b` one of them. Counts, brackets and mixtures are left to Slurm.
local function has_features(have, wanted)
    have = have or {}
    if find(wanted, "[%[%]%(%)%*!]") or (find(wanted, "|", 1, true) and find(wanted, "[&,]")) then
        return DOUBT
    end
    local any, every = false, true
    for name in gmatch(wanted, "[^&,|]+") do
        name = text.trimmed(name)
        if have[name] then
            any = true
        else
            every = false
        end
    end
    if find(wanted, "|", 1, true) then
        return any
    end
    return every
end

local function at_most(number, bound)
    return not number or not bound or number <= bound
end

-- What the queues are asked for, read from the request once for all of them.
local nodes, max_nodes, gpus, gpus_per_node, gpu_type, cpus, mem, features

local function read_wish(request)
    nodes, max_nodes = request.nodes or 1, request.max_nodes or huge
    gpus, gpus_per_node, gpu_type = request.gpus, request.gpus_per_node, request.gpu_type
    if gpus == 0 then
        gpus = nil
    end
    if not gpus then
        gpus_per_node = 0
    elseif not gpus_per_node then
        gpus_per_node = nodes == 1 and max_nodes == 1 and gpus or 0
    end
    cpus, mem, features = request.cpus or 0, request.mem or 0, request.features
end

-- Whether the queue's nodes are big and many enough. Memory and CPUs may spread over as many nodes as the job takes.
local function has_room(candidate)
    local needed, least = nodes, candidate.least_nodes
    if gpus then
        local of_node = candidate.of_node
        if of_node == 0 or gpus_per_node > of_node then
            return false
        end
        if gpus > of_node * needed then
            needed = ceil(gpus / of_node)
        end
    end
    if least > needed then
        needed = least
    end
    if cpus > candidate.node_cpus * needed then
        needed = ceil(cpus / candidate.node_cpus)
    end
    if mem > candidate.node_mem * needed then
        needed = ceil(mem / candidate.node_mem)
    end
    return needed <= max_nodes and needed <= candidate.most_nodes
end

local function has_time(facts, job)
    local kind = job.kind
    if kind == "unknown" then
        return DOUBT
    end
    if kind == "unlimited" then
        return facts.max_limit == nil
    end
    return (kind == "unset" or at_most(job.limit, facts.max_limit)) and at_most(job.time_min, facts.max_limit)
end

-- Slurm lists only the queues a user's groups may use; without that list (usable) the policy's own list of groups is no answer.
local function is_open(facts, request, queue)
    if facts.up == false then
        return false
    end
    if request.usable then
        return request.usable[queue] == true
    end
    if facts.allow_groups then
        return DOUBT
    end
    return true
end

local function of_kind(facts, wanted)
    return facts.gpu_types ~= nil and facts.gpu_types[wanted] == true
end

-- Whether the queue (of plan.bounded) could ever run the job, by its time limit, nodes and GPUs alone: what nobody changes for
-- one user.
function route.takes(queue, job, request)
    if job.kind == "finite" and not job.time_min then
        if job.limit > queue.most_limit then
            return false
        end
    elseif has_time(queue.facts, job) == false then
        return false
    end
    local needed, wanted = request.nodes or 1, request.gpus
    if wanted and wanted > 0 then
        local of_node = queue.of_node
        if wanted > of_node then
            if of_node == 0 then
                return false
            end
            needed = max(needed, ceil(wanted / of_node))
        end
        if (request.gpus_per_node or 0) > of_node then
            return false
        end
    end
    local kind = request.gpu_type
    return needed <= queue.most_nodes and (not kind or of_kind(queue.facts, kind))
end

-- Whether accounts, QOS and features let the job in.
local function admits(candidate, facts, request)
    local account, qos, able = true, true, true
    if candidate.by_account then
        account = admitted(facts.allow_accounts, facts.deny_accounts, request.account)
    end
    if candidate.by_qos then
        qos = admitted(facts.allow_qos, facts.deny_qos, request.qos)
    end
    if features then
        able = has_features(facts.features, features)
    end
    if account == false or qos == false or able == false then
        return false
    end
    return account and qos and able
end

-- Whether Slurm would run the job in this queue at all: true, false, or nil (in doubt). What is surely wrong comes first.
local function possible(candidate, facts, job, request)
    local time = (job.kind == "finite" and not job.time_min) or has_time(facts, job) -- its limit has been looked at
    if time == false or not has_room(candidate) or (gpu_type and not of_kind(facts, gpu_type)) then
        return false
    end
    local open = is_open(facts, request, candidate.name)
    if open == false then
        return false
    end
    if candidate.by_account or candidate.by_qos or features then
        local let_in = admits(candidate, facts, request)
        if not let_in then
            return let_in
        end
    end
    return time and open or DOUBT
end

local there = {} -- the job as it would be in the queue that is looked at

-- The same, and the policy's rules would let the job through as it is. The second value: they have not a word to say to it.
local function fits(candidate, job, request)
    local facts, groups = candidate.facts, candidate.groups
    local answer = possible(candidate, facts, job, request)
    if answer == false or #groups == 0 then
        return answer, true
    end
    local least = request.nodes
    if gpus and gpus > candidate.of_node then
        least = least_nodes(request, facts.node_gpus)
    end
    local wanted = request.min_cpus
    if least and wanted and wanted > 1 then
        least = nodes_for(wanted, least, candidate.node_cpus, facts.node_mem, request)
    end
    there.nodes = least
    if keeps(groups, there, request) then
        return answer, true
    end
    there.class = class_of(least, request.gpus)
    return bounds.pass(groups, there, request, facts) and answer, false
end

-- The first queue of the policy's order that fits. The second value names a queue that might have and comes before it; the
-- third is true where the job surely keeps every rule of the queue.
function route.shortest(job, request, plan)
    local candidates = plan.candidates
    read_wish(request)
    local kind, doubtful = job.kind, nil
    local limit = kind == "finite" and job.limit or 0
    there.limit, there.kind, there.time_min = job.limit, kind, job.time_min
    for i = 1, #candidates do
        local candidate = candidates[i]
        if limit <= candidate.most_limit then
            local answer, kept = fits(candidate, job, request)
            if answer then
                return candidate.name, doubtful, kept
            elseif answer == nil and not doubtful then
                doubtful = candidate.name
            end
        end
    end
    return nil, doubtful
end

return route
