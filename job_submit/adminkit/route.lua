-- Which queue takes a job. Only facts that Slurm checks too, and the rules of the policy, count; doubt is said, not guessed.
local need = ...
local classes = need("classes")
local rules = need("rules")

local route = {}

local ceil, huge, max, min = math.ceil, math.huge, math.max, math.min
local find, gmatch, match = string.find, string.gmatch, string.match

local DOUBT = nil

-- true, false or nil (in doubt): whether sets of names let `name` in. At least one of them is there.
local function admitted(allowed, denied, name)
    if name == nil then
        return DOUBT
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
        name = match(name, "^%s*(.-)%s*$")
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

-- Whether the queue's nodes are big and many enough. Memory and CPUs may spread over as many nodes as the job takes.
local function has_room(facts, request)
    local nodes = request.nodes or 1
    local gpus, per_node = request.gpus, request.gpus_per_node
    if gpus and gpus > 0 and not per_node and nodes == 1 and request.max_nodes == 1 then
        per_node = gpus
    end
    if per_node and per_node > 0 and (not facts.node_gpus or per_node > facts.node_gpus) then
        return false
    end
    if gpus and gpus > 0 and (facts.node_gpus or 0) == 0 then
        return false
    end
    local needed = max(nodes, facts.min_nodes or 0)
    if gpus and gpus > 0 then
        needed = max(needed, ceil(gpus / facts.node_gpus))
    end
    if request.cpus and facts.node_cpus and facts.node_cpus > 0 then
        needed = max(needed, ceil(request.cpus / facts.node_cpus))
    end
    if request.mem and facts.node_mem and facts.node_mem > 0 then
        needed = max(needed, ceil(request.mem / facts.node_mem))
    end
    if not at_most(facts.min_nodes, request.max_nodes) then
        return false
    end
    local most = min(facts.max_nodes or huge, facts.total_nodes or huge, request.max_nodes or huge)
    return needed <= most
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

local function of_kind(facts, request)
    local wanted = request.gpu_type
    return not wanted or (facts.gpu_types ~= nil and facts.gpu_types[wanted] == true)
end

-- Whether the queue could ever run the job, by its time limit, nodes and GPUs alone: what nobody changes for one user.
function route.takes(facts, job, request)
    local nodes, gpus = request.nodes or 1, request.gpus
    if gpus and gpus > 0 then
        local of_node = facts.node_gpus or 0
        if of_node == 0 or (request.gpus_per_node or 0) > of_node then
            return false
        end
        if gpus > of_node then
            nodes = max(nodes, ceil(gpus / of_node))
        end
    end
    return at_most(nodes, facts.max_nodes)
        and at_most(nodes, facts.total_nodes)
        and has_time(facts, job) ~= false
        and of_kind(facts, request)
end

-- Whether Slurm would run the job in this queue at all: true, false, or nil (in doubt). What is surely wrong counts before doubt.
function route.possible(queue, facts, job, request)
    local time = has_time(facts, job)
    if time == false or not has_room(facts, request) or not of_kind(facts, request) then
        return false
    end
    local open = is_open(facts, request, queue)
    if open == false then
        return false
    end
    local account, qos = true, true
    if facts.allow_accounts or facts.deny_accounts then
        account = admitted(facts.allow_accounts, facts.deny_accounts, request.account)
    end
    if facts.allow_qos or facts.deny_qos then
        qos = admitted(facts.allow_qos, facts.deny_qos, request.qos)
    end
    local features = request.features
    if features then
        features = has_features(facts.features, features)
    else
        features = true
    end
    if account == false or qos == false or features == false then
        return false
    end
    if time and open and account and qos and features then
        return true
    end
    return DOUBT
end

-- The same, and the policy's rules would let the job through as it is.
function route.fits(queue, job, request, policy, plan)
    local facts = policy.queues[queue]
    if not facts then
        return false
    end
    local possible = route.possible(queue, facts, job, request)
    if possible == false then
        return false
    end
    local there = {
        limit = job.limit,
        kind = job.kind,
        time_min = job.time_min,
        nodes = classes.least_nodes(request, facts.node_gpus),
    }
    there.class = classes.of(there.nodes, request.gpus)
    if not rules.pass(plan.of_queue[queue], there, request, facts) then
        return false
    end
    return possible
end

-- The first queue of the policy's order that fits. The second value names a queue that might have and comes before it.
function route.shortest(job, request, policy, plan)
    local order = policy.routing and policy.routing.order or {}
    local doubtful
    for i = 1, #order do
        local fits = route.fits(order[i], job, request, policy, plan)
        if fits then
            return order[i], doubtful
        elseif fits == nil and not doubtful then
            doubtful = order[i]
        end
    end
    return nil, doubtful
end

return route
