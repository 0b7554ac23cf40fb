-- The meaning of every rule. A check looks at a job and says nil (it holds), UNTOLD (the request does not show what it
-- looks at), or the number that breaks it.
--
-- `job` is the part of a request that decisions change: limit, kind (of the limit), time_min, queues, nodes and class;
-- `request` is the rest. Neither is changed here but by an amendment.
local need = ...
local text = need("text")

local rules = {}

local UNTOLD = "untold"
rules.UNTOLD = UNTOLD

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
local find = string.find

local OTHERS = {
    cpu = { ["single-gpu"] = true, ["multi-gpu"] = true, ["multi-node"] = true },
    ["single-gpu"] = { ["multi-gpu"] = true, ["multi-node"] = true },
    ["multi-gpu"] = { ["multi-node"] = true },
}

-- The seconds a job may run by what it asks for, else by its queue. nil where neither is known.
local function effective(job, facts)
    local kind = job.kind
    if kind == "finite" then
        return job.limit
    end
    if kind == "unlimited" then
        return huge
    end
    if kind ~= "unset" or not facts then
        return nil
    end
    return facts.default_limit or facts.max_limit or huge
end
rules.effective = effective

local check = {}

-- The limit has to be given.
function check.require_limit(job)
    if job.kind == "unset" then
        return 0
    end
    return job.kind == "unknown" and UNTOLD or nil
end

-- A job that gives no limit gets this one.
check.default_limit = check.require_limit

-- Nobody asks for less, and backfill may not shrink a job below.
function check.min_limit(job, value)
    if job.kind == "unknown" then
        return UNTOLD
    end
    if job.kind == "finite" and job.limit < value then
        return job.limit
    end
    if job.time_min and job.time_min < value then
        return job.time_min
    end
    return nil
end

-- Nobody runs longer, be it by his own limit, by the queue's default or by --time-min.
function check.max_limit(job, value, facts)
    local limit = effective(job, facts)
    if limit and limit > value then
        return limit
    end
    if job.time_min and job.time_min > value then
        return job.time_min
    end
    return limit == nil and UNTOLD or nil
end

-- Longer only for jobs that can be stopped and carried on.
function check.restartable_above(job, value, facts, request)
    local restartable = request.restartable
    if restartable then
        return nil
    end
    local broken = check.max_limit(job, value, facts)
    if broken and restartable == nil then
        return UNTOLD
    end
    return broken
end

local function outside(number, range)
    if not number then
        return UNTOLD
    end
    if (range.min and number < range.min) or (range.max and number > range.max) then
        return number
    end
    return nil
end

-- The number a check looks at.
local number_of = {}

function number_of.gpus(_, request)
    return request.gpus
end

function number_of.gpus_per_node(job, request)
    return request.gpus_per_node or (job.nodes == 1 and request.gpus or nil)
end

function number_of.nodes(job)
    return job.nodes
end

function number_of.cpus(_, request)
    return request.cpus
end

-- The most nodes of the job; nil where the request tells of none. `job.most_nodes` is what the policy has come to.
local function most_nodes(job, request)
    return job.most_nodes or request.most_nodes or request.max_nodes or job.nodes
end

-- What does not depend on the nodes, and what each node adds at most. A whole node brings all it has; a job of which it is
-- "unknown" whether it takes them is held to be of whole nodes.
local parts_of = {}

function parts_of.nodes()
    return 0, 1
end

function parts_of.gpus(facts, request, whole)
    local fixed, each = request.gpus_fixed, request.gpus_each or 0
    if whole then
        each = max(each, facts and facts.node_gpus or huge)
    end
    return fixed or request.gpus, each
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
    local most = facts and facts.node_gpus
    if whole then
        return most or huge, 0
    elseif of_node then
        of_node = request.gpus_each == 0 and of_node or of_node + (fixed or 0)
        return of_node == huge and most or of_node, 0 -- of sockets that nobody has counted: no more than a node has
    end
    return fixed and min(fixed, most or fixed), 0
end

local function is_whole(facts, request)
    return request.whole or (facts and facts.whole)
end

-- The most that Slurm may give the job of what a check counts: `huge` where nobody can tell, nil where the request is silent.
local function most_by(whole, name, job, facts, request)
    local fixed, each = parts_of[name](facts, request, whole)
    if not fixed then
        return nil
    end
    if each == 0 then
        return fixed
    end
    return max(fixed, each * (most_nodes(job, request) or 1))
end

local function most_of(name, job, facts, request)
    return most_by(is_whole(facts, request), name, job, facts, request)
end
rules.most_of = most_of

for name, number in pairs(number_of) do
    check[name] = function(job, range, facts, request)
        local broken = outside(number(job, request), range)
        if broken and broken ~= UNTOLD then
            return broken
        end
        local most = range.max and most_of(name, job, facts, request)
        if not most then
            return broken
        elseif most > range.max then
            return most
        end
        return range.min and broken or nil
    end
end

-- The most nodes with which the job keeps a check that it might break by taking many; nil where none does, where it says
-- itself how many it takes, and where Slurm would not be held to it.
function rules.cap(name, job, range, facts, request)
    local number = number_of[name](job, request)
    local named = request.node_list
    if request.max_nodes or not range.max or name == "gpus_per_node" or not job.nodes
        or not number or number > range.max or number < (range.min or 0)
        or (named and find(named, "{", 1, true)) then
        return nil
    end
    local fixed, each = parts_of[name](facts, request, is_whole(facts, request))
    if not fixed or fixed > range.max or each == 0 then
        return nil
    end
    local most = floor(range.max / each)
    return most >= max(job.nodes, 1) and most or nil
end

rules.check = check

-- How far a job lies below and above the range of a number check, by its least and by the most that Slurm may give it; nil
-- where the request does not show the number. What is "unknown" before and after an update says nothing about the update.
function rules.distance(name, job, range, request, facts)
    local number = number_of[name](job, request)
    if not number then
        return nil
    end
    local whole = is_whole(facts, request)
    local most = most_by(whole ~= "unknown" and whole, name, job, facts, request) or number
    local above, most_above = 0, 0
    if range.max then
        above, most_above = max(0, number - range.max), max(0, max(number, most) - range.max)
    end
    return max(0, (range.min or number) - number), above, most_above
end

-- Slurm counts in minutes: what lowers a limit rounds down, what raises it rounds up.
local function lowered(seconds)
    return max(60, floor(seconds / 60) * 60)
end

local function raised(seconds)
    return ceil(seconds / 60) * 60
end

local amend = {}

function amend.default_limit(job, value)
    job.limit, job.kind = lowered(value), "finite"
    if job.time_min and job.time_min > job.limit then
        job.time_min = job.limit
    end
end

function amend.min_limit(job, value)
    if job.kind == "finite" and job.limit < value then
        job.limit = raised(value)
    end
    if job.time_min and job.time_min < value then
        job.time_min = raised(value)
        if job.kind == "finite" then
            job.time_min = min(job.time_min, job.limit)
        end
    end
end

function amend.max_limit(job, value, facts)
    local limit = effective(job, facts)
    if limit and limit > value then
        job.limit, job.kind = lowered(value), "finite"
    end
    if job.time_min then
        job.time_min = min(job.time_min, lowered(value))
    end
end

amend.restartable_above = amend.max_limit

rules.amend = amend

local COUNTS = { gpus = true, gpus_per_node = true, nodes = true, cpus = true }
rules.COUNTS = COUNTS

-- What Slurm should answer besides our text; names of its errors. Before 23.02 Lua has those of limits, of nodes, and POLICY.
rules.POLICY = "ESLURM_ACCOUNTING_POLICY" -- what has no error of its own
rules.CODES = {
    require_limit = "ESLURM_MISSING_TIME_LIMIT",
    min_limit = "ESLURM_INVALID_TIME_LIMIT",
    max_limit = "ESLURM_INVALID_TIME_LIMIT",
    restartable_above = "ESLURM_INVALID_TIME_LIMIT",
    gpus = "ESLURM_INVALID_GRES",
    gpus_per_node = "ESLURM_INVALID_GRES",
    nodes = "ESLURM_INVALID_NODE_COUNT",
    cpus = "ESLURM_INVALID_CPU_COUNT",
    routing = "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE", -- as Slurm says of a job that its queue can never take
}

local SINGLE = { nodes = 1, most_nodes = 1 }

-- Whether the job may be of one of `classes`, of which it is none as it asks: true, false, or "spread" where it would be that
-- only on more nodes than it needs.
local function may_be(classes, job, request, facts)
    if (job.nodes or 2) > 1 then
        return false
    end
    local gpus = most_of("gpus", SINGLE, facts, request) or 0
    if gpus > 1 and classes["multi-gpu"] or (gpus > 0 and (request.gpus or 0) <= 1 and classes["single-gpu"]) then
        return true
    end
    return classes["multi-node"] and (most_nodes(job, request) or 1) > 1 and "spread" or false
end

-- Whether two readings of the request are of different classes.
function rules.is_of(class, job, request, facts)
    if class == "multi-node" or not class then
        return class ~= nil
    end
    return not may_be(OTHERS[class], job, request, facts)
end

local function among(set, list)
    if set[list] then
        return true
    end
    if find(list, ",", 1, true) then
        local names = text.names[list]
        for i = 1, #names do
            if set[names[i]] then
                return true
            end
        end
    end
    return false
end

-- Whether the conditions of a rule hold: true, false, or nil where the request does not show what they look at. The second
-- value is true where they hold only if the job is spread over more nodes than it needs. One of a list of QOS is enough.
function rules.applies(when, job, request, facts)
    if not when then
        return true
    end
    local told, spread = true, nil
    local users, others = when.users, when.except_users
    if users or others then
        local uid, user = request.uid, request.user
        if not uid and not user then
            told = nil
        elseif users and not ((uid and users[uid]) or (user and users[user])) then
            return false
        elseif others and ((uid and others[uid]) or (user and others[user])) then
            return false
        end
    end
    if when.classes then
        if job.class == nil then
            told = nil
        elseif not when.classes[job.class] then
            local may = may_be(when.classes, job, request, facts)
            if not may then
                return false
            end
            spread = may == "spread"
        end
    end
    if when.accounts or when.except_accounts then
        local account = request.account
        if not account then
            told = nil
        elseif when.accounts and not when.accounts[account] then
            return false
        elseif when.except_accounts and when.except_accounts[account] then
            return false
        end
    end
    if when.qos then
        local qos = request.qos
        if not qos then
            told = nil
        elseif not among(when.qos, qos) then
            return false
        end
    end
    return told, spread
end

-- reject, amend or warn, as of `now`; the second value is true for a rule that only warns because its day is ahead.
function rules.outcome(rule, now)
    if rule.from and now and now < rule.from then
        return "warn", rule.action ~= "warn"
    end
    if rule.action == "amend" and not amend[rule.check] then
        return "warn", false
    end
    return rule.action, false
end

return rules
