-- Which queue takes a job. Only facts that Slurm checks too, and the rules of the policy, count; an unknown answer stays
-- unknown.
local need = ...
local allocation = need("allocation")
local conditions = need("conditions")
local rules = need("rules")
local text = need("text")

local route = {}

local find, gmatch = string.find, string.gmatch

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

-- Whether the queue's nodes are big and many enough. Memory and CPUs may spread over as many nodes as the job takes. Trap: a
-- number that nobody knows, of nodes whose size nobody knows, is not a number, which is above nothing.
local function has_room(queue, request)
    local needed, named, most = request.nodes or 1, request.max_nodes, queue.most_nodes
    local counts, node_gpus = request.counts or request, queue.node_gpus
    local gpus = counts.gpus or 0
    if named and named < most then
        most = named
    end
    if needed > most or queue.least_nodes > most then
        return false
    end
    if gpus > 0 then
        local of_node = counts.gpus_per_node or (needed == 1 and named == 1 and gpus or 0)
        if node_gpus == 0 or of_node > node_gpus or gpus / node_gpus > most then
            return false
        end
    end
    return not ((request.cpus or 0) / queue.node_cpus > most or (request.mem or 0) / queue.node_mem > most)
end

local function has_time(facts, job)
    local kind = job.kind
    if kind == "unknown" then
        return DOUBT
    end
    local most, limit, time_min = facts.max_limit, job.limit, job.time_min
    if kind == "unlimited" or not most then
        return not most
    end
    return (kind == "unset" or not limit or limit <= most) and (not time_min or time_min <= most)
end

-- Slurm lists only the queues a user's groups may use; without that list (usable) the policy's list of groups cannot tell.
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

-- Whether the queue could ever run the job, by only its time limit, nodes and GPUs: what nobody changes for one user.
function route.takes(queue, job, request)
    if has_time(queue.facts, job) == false then
        return false
    end
    local most, counts, node_gpus = queue.most_nodes, request.counts or request, queue.node_gpus
    local gpus = counts.gpus or 0
    if gpus > 0 and (node_gpus == 0 or (counts.gpus_per_node or 0) > node_gpus or gpus / node_gpus > most) then
        return false
    end
    local kind = request.gpu_type
    return (request.nodes or 1) <= most and (not kind or of_kind(queue.facts, kind))
end

-- Whether accounts, QOS and features let the job in.
local function admits(queue, request)
    local facts, features = queue.facts, request.features
    local account, qos, able = true, true, true
    if queue.by_account then
        account = admitted(facts.allow_accounts, facts.deny_accounts, request.account)
    end
    if queue.by_qos then
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

-- Whether Slurm would run the job in this queue at all: true, false, or nil (in doubt). A certain no comes before a doubt.
local function possible(queue, job, request)
    local facts, kind = queue.facts, request.gpu_type
    local time = has_time(facts, job)
    if time == false or not has_room(queue, request) or (kind and not of_kind(facts, kind)) then
        return false
    end
    local open = is_open(facts, request, queue.name)
    if open == false then
        return false
    end
    local names = admits(queue, request)
    if not names then
        return names
    end
    return time and open or DOUBT
end

-- Whether a rule that `number` breaks would neither refuse the job nor change it.
local function lets_pass(rule, number, job, facts, request)
    if number == rules.UNTOLD or rule.check == "default_limit" or rules.outcome(rule, request.now) == "warn" then
        return true
    end
    local applied, spread = conditions.applies(rule.when, job, request, facts)
    return not applied or spread
        or (rules.is_count(rule.check) and rules.cap(rule.check, job, rule.value, facts, request) ~= nil)
end

-- Whether the job, whose size in this queue is known, would come through the queue's rules unrefused and unchanged. The second
-- value is true where none of them has anything to say to it.
local function passes(queue, job, request)
    local facts, checks, is_silent = queue.facts, queue.rules, true
    local measured, first, second
    for c = 1, #checks do
        local list = checks[c]
        local measure, compare = list.measure, list.compare
        if measure ~= measured then
            measured, first, second = measure, measure(job, facts, request)
        end
        local number = compare(first, second, list.tightest, request)
        if number then
            for i = 1, #list do
                if list[2] then -- else it is the tightest
                    number = compare(first, second, list[i].value, request)
                end
                is_silent = is_silent and not number
                if number and not lets_pass(list[i], number, job, facts, request) then
                    return false, false
                end
            end
        end
    end
    return true, is_silent
end

-- The first queue of the policy's order that fits: Slurm would run the job there, and the policy's rules would let it through
-- as it is. The second value names a queue that might have and comes before it; the third is that of passes(). The job's nodes
-- and class are then those in the queue that was looked at last.
function route.shortest(job, request, ruleset)
    local candidates, doubtful = ruleset.candidates, nil
    for i = 1, #candidates do
        local queue, is_silent = candidates[i], nil
        local answer = possible(queue, job, request)
        if answer ~= false then
            local is_passed
            job.nodes = allocation.least_nodes(request, queue.node_gpus, queue.node_cpus, queue.facts.node_mem)
            job.class = allocation.class_of(job.nodes, request.gpus)
            is_passed, is_silent = passes(queue, job, request)
            answer = is_passed and answer
        end
        if answer then
            return queue, doubtful, is_silent
        elseif answer == nil and not doubtful then
            doubtful = queue.name
        end
    end
    return nil, doubtful
end

return route
