-- What can be worked out of a policy once: its rules in the order they are looked at, per queue, and the default queue.
local need = ...
local holds = need("bounds").holds

local plan = {}

-- The order in which checks are looked at, whatever the order of the rules in the file.
plan.ORDER = {
    require_limit = 1,
    default_limit = 2,
    min_limit = 3,
    max_limit = 4,
    restartable_above = 5,
    gpus = 6,
    gpus_per_node = 7,
    nodes = 8,
    cpus = 9,
}

local known = setmetatable({}, { __mode = "k" })

local function sorted(rules)
    local order, place = {}, {}
    for i = 1, #rules do
        order[i] = rules[i]
        place[rules[i]] = i
    end
    table.sort(order, function(a, b)
        local first, second = plan.ORDER[a.check] or 99, plan.ORDER[b.check] or 99
        if first ~= second then
            return first < second
        end
        return place[a] < place[b]
    end)
    return order
end

local function tighten(group, rule)
    local value = rule.value
    if type(value) == "number" then
        group.least = math.min(group.least, value)
        group.most = math.max(group.most, value)
        for i = #group, 1, -1 do
            group.rest[i] = math.min(group.rest[i] or value, value)
        end
    elseif type(value) == "table" then
        group.least = math.min(group.least, value.max or math.huge)
        group.most = math.max(group.most, value.min or -math.huge)
    end
end

local COUNTS = { gpus = true, gpus_per_node = true, nodes = true, cpus = true }

-- The bounds of all groups together, for bounds.keeps. `limits`: some rule looks at the limit, which lies between `least` and
-- `most`; `counts`: some rule looks at a number, whose group stands under the name of the check.
local function bounds_of(groups)
    local bounds = { limits = false, counts = false, least = -math.huge, most = math.huge }
    for i = 1, #groups do
        local group = groups[i]
        local check = group.check
        if COUNTS[check] then
            bounds.counts = true
            bounds[check] = group
        else
            bounds.limits = true
            if check == "min_limit" then
                bounds.least = math.max(bounds.least, group.most)
            elseif check == "max_limit" or check == "restartable_above" then
                bounds.most = math.min(bounds.most, group.least)
            end
        end
    end
    return bounds
end

-- The rules that can matter in a queue, a group for each check. A group knows its tightest bounds, `least` and `most`: a number
-- within them keeps all of its rules, which is what most jobs do with most rules. `rest[i]` is the least value from rule i on;
-- `bites`: some rule refuses jobs, or changes one that routing would send here.
local function groups_of(rules, takes)
    local groups, group = {}, nil
    for i = 1, #rules do
        local rule = rules[i]
        if takes(rule) then
            if not group or group.check ~= rule.check then
                group = { check = rule.check, least = math.huge, most = -math.huge, rest = {} }
                group.holds = holds[rule.check]
                groups[#groups + 1] = group
            end
            group[#group + 1] = rule
            group.bites = group.bites or (rule.action ~= "warn" and rule.check ~= "default_limit")
            tighten(group, rule)
        end
    end
    groups.bounds = bounds_of(groups)
    return groups
end

local function of_queue(rules, queue)
    return groups_of(rules, function(rule)
        local queues = rule.when and rule.when.queues
        return not queues or queues[queue]
    end)
end

local function default_queue(queues)
    for name, facts in pairs(queues) do
        if facts.is_default then
            return name
        end
    end
    return nil
end

-- Whether a set of users can only be compared with names: asking Slurm for a name costs a look into the user database.
local function only_names(set)
    local names = false
    for key in pairs(set or {}) do
        if type(key) == "number" then
            return false
        end
        names = true
    end
    return names
end

-- A queue with what is compared first, a number wherever Slurm has none: no bound is infinite.
local function bounded(name, facts, groups)
    return {
        name = name,
        facts = facts,
        groups = groups,
        most_limit = facts.max_limit or math.huge,
        least_nodes = facts.min_nodes or 0,
        node_cpus = facts.node_cpus ~= 0 and facts.node_cpus or math.huge,
        node_mem = facts.node_mem ~= 0 and facts.node_mem or math.huge,
        most_nodes = math.min(facts.max_nodes or math.huge, facts.total_nodes or math.huge),
        of_node = facts.node_gpus or 0,
        by_account = facts.allow_accounts ~= nil or facts.deny_accounts ~= nil,
        by_qos = facts.allow_qos ~= nil or facts.deny_qos ~= nil,
    }
end

-- The queues of the routing order that there are.
local function candidates_of(policy, made)
    local order = policy.routing and policy.routing.order or {}
    local list = {}
    for i = 1, #order do
        list[#list + 1] = made.bounded[order[i]]
    end
    return list
end

local function make(policy)
    local made = { rules = sorted(policy.rules or {}), of_queue = {}, checks = { routing = "routing" } }
    made.texts, made.alone, made.routed, made.fit = {}, {}, {}, {} -- what others work out once, when they need it
    made.record = policy.record ~= "none" and policy.record or nil
    local queues = policy.queues or {}
    for name, facts in pairs(queues) do
        made.of_queue[name] = of_queue(made.rules, name)
        made.of_queue[name].whole = facts.whole
    end
    for i = 1, #made.rules do
        local rule = made.rules[i]
        local when = rule.when or {}
        made.checks[rule.name] = rule.check
        for name in pairs(when.queues or {}) do
            made.of_queue[name] = made.of_queue[name] or of_queue(made.rules, name)
        end
        made.needs_now = made.needs_now or rule.from ~= nil
        made.needs_user = made.needs_user or only_names(when.users) or only_names(when.except_users)
    end
    made.needs_now = made.needs_now or (policy.routing and policy.routing.from ~= nil)
    made.anywhere = groups_of(made.rules, function(rule)
        return not (rule.when and rule.when.queues)
    end)
    made.everything = groups_of(made.rules, function()
        return true
    end)
    made.bounded = {}
    for name, facts in pairs(queues) do
        made.bounded[name] = bounded(name, facts, made.of_queue[name])
    end
    made.default = default_queue(queues)
    made.candidates = candidates_of(policy, made)
    local routing = policy.routing
    if routing and (routing.action == "amend" or routing.action == "warn") then
        made.routing, made.routing_from = routing.action, routing.from
    end
    return made
end

-- The plan of this policy table, made at the first call. The table must not change afterwards.
function plan.of(policy)
    local made = known[policy]
    if not made then
        made = make(policy)
        known[policy] = made
    end
    return made
end

return plan
