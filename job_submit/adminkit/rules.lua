-- The meaning of every rule. A check looks at a job and says nil (it holds), UNTOLD (the request does not show what it
-- looks at), or the number that breaks it.
--
-- `job` is the part of a request that decisions change: limit, kind (of the limit), time_min, queues, nodes and class;
-- `request` is the rest. Neither is changed here but by an amendment.
local rules = {}

local UNTOLD = "untold"
rules.UNTOLD = UNTOLD

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min

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

-- The field of the request that says how many there may be at most, where the job takes as many as it gets.
local MOST = { gpus = "most_gpus", nodes = "max_nodes" }

for name, number in pairs(number_of) do
    local field = MOST[name]
    check[name] = function(job, range, _, request)
        local broken = outside(number(job, request), range)
        local most = not broken and field and request[field]
        if most and range.max and most > range.max then
            return most
        end
        return broken
    end
end

rules.check = check

-- How far a job lies below and above the range of a number check; nil where the request does not show the number.
function rules.distance(name, job, range, request)
    local number = number_of[name](job, request)
    if not number then
        return nil
    end
    local most = MOST[name] and request[MOST[name]]
    return max(0, (range.min or number) - number), max(0, max(number, most or number) - (range.max or huge))
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

-- Whether the conditions of a rule hold: true, false, or nil where the request does not show what they look at.
function rules.applies(when, job, request)
    if not when then
        return true
    end
    local told = true
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
            return false
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
        elseif not when.qos[qos] then
            return false
        end
    end
    return told
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
