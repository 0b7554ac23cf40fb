-- What every rule means. A check measures a job, which gives two numbers, and compares them with the value of each rule: nil
-- (the rule holds), UNTOLD (the request does not show what the rule looks at), or the number that breaks the rule. Nothing is
-- changed here but by an amendment, which changes the job.
--
-- `job` is of allocation.job_of, `request` the rest of what was asked for, `facts` what the policy knows of the queue, or nil.
local need = ...
local allocation = need("allocation")
local demands = need("demands")
local ratios = need("ratios")

local rules = {}

local UNTOLD = "untold"
rules.UNTOLD = UNTOLD

local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
local find = string.find
local most_of = allocation.most

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

-- measure(job, facts, request) and compare(first, second, value, request), by the name of the check.
local measure, compare = {}, {}

function measure.require_limit(job)
    return job.kind
end

-- The limit has to be given.
function compare.require_limit(kind)
    if kind == "unset" then
        return 0
    end
    return kind == "unknown" and UNTOLD or nil
end

-- A job that gives no limit gets this one.
measure.default_limit, compare.default_limit = measure.require_limit, compare.require_limit

function measure.min_limit(job)
    local limit = huge
    if job.kind == "finite" then
        limit = job.limit
    elseif job.kind == "unknown" then
        limit = nil
    end
    return limit, job.time_min or huge
end

-- The limit and --time-min are at least this.
function compare.min_limit(limit, time_min, value)
    if not limit then
        return UNTOLD
    end
    return limit < value and limit or time_min < value and time_min or nil
end

function measure.max_limit(job, facts)
    return effective(job, facts), job.time_min or 0
end

-- The limit (the job's own, else the queue's default) and --time-min are at most this.
function compare.max_limit(limit, time_min, value)
    if limit and limit > value then
        return limit
    end
    if time_min > value then
        return time_min
    end
    return limit == nil and UNTOLD or nil
end

measure.restartable_above = measure.max_limit

-- Above this only jobs that can be stopped and continued.
function compare.restartable_above(limit, time_min, value, request)
    local number = compare.max_limit(limit, time_min, value)
    if not number then
        return nil
    end
    local restartable = request.restartable
    if restartable == true then
        return nil
    end
    return restartable == false and number or UNTOLD
end

-- The number that a check of numbers looks at, the least that the job asks for.
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

-- The least that a job asks for is held to the minimum, the most that Slurm may give it to the maximum.
local function compare_count(least, most, range)
    local low, high = range.min, range.max
    if least and ((low and least < low) or (high and least > high)) then
        return least
    end
    if high and most then
        if most > high then
            return most
        elseif not low then
            return nil
        end
    end
    return not least and UNTOLD or nil
end

for name, number in pairs(number_of) do
    measure[name] = function(job, facts, request)
        return number(job, request), most_of(name, job, facts, request)
    end
    compare[name] = compare_count
end

local keeps = demands.comparison(UNTOLD)
for name, of_job in pairs(demands.measure) do
    measure[name], compare[name] = of_job, keeps
end

local within = ratios.comparison(UNTOLD)
for name, of_job in pairs(ratios.measure) do
    measure[name], compare[name] = of_job, within
end

rules.measure, rules.compare = measure, compare

-- What breaks this rule: nil, UNTOLD or a number.
function rules.broken(rule, job, facts, request)
    local first, second = measure[rule.check](job, facts, request)
    return compare[rule.check](first, second, rule.value, request)
end

-- Whether this check looks at a number of nodes, CPUs or GPUs; its value is a range.
function rules.is_count(name)
    return number_of[name] ~= nil
end

-- Whether the most of a job that this check looks at may be unknown, which has a text of its own.
function rules.may_be_unsure(name)
    return number_of[name] ~= nil or name == "cpus_per_gpu"
end

-- Whether Slurm would not be held to a most of nodes: 26.05 takes the number of tasks of an update for it.
function rules.is_loose(request)
    return request.older and request.num_tasks
end

-- The most nodes with which the job keeps a check of numbers that it might break by taking many; nil where no number does,
-- where the job says itself how many it takes, and where Slurm would not be held to it.
function rules.cap(name, job, range, facts, request)
    local least, named = number_of[name](job, request), request.node_list
    if request.max_nodes or rules.is_loose(request) or not range.max or name == "gpus_per_node" or not job.nodes
        or not least or least > range.max or least < (range.min or 0)
        or (named and find(named, "{", 1, true)) then
        return nil
    end
    local fixed, each = allocation.parts(name, facts, request)
    if not fixed or fixed > range.max or each == 0 then
        return nil
    end
    local most = floor(range.max / each)
    return most >= max(job.nodes, 1) and most or nil
end

-- How far a job is below and above the range of a number check, by its least and by the most that Slurm may give it; nil
-- where the request does not show the number.
function rules.distance(name, job, range, request, facts)
    local least = number_of[name](job, request)
    if not least then
        return nil
    end
    local most = allocation.most_known(name, job, facts, request) or least
    local above, most_above = 0, 0
    if range.max then
        above, most_above = max(0, least - range.max), max(0, max(least, most) - range.max)
    end
    return max(0, (range.min or least) - least), above, most_above
end

-- Slurm counts in minutes: what lowers a limit rounds down, what raises it rounds up.
local function lowered(seconds)
    return max(60, floor(seconds / 60) * 60)
end

local function raised(seconds)
    return ceil(seconds / 60) * 60
end

-- amend(job, value, facts), by the name of the check; a check without one cannot amend.
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

-- The order in which checks are looked at, whatever the order of the rules in the file.
rules.ORDER = {
    require_limit = 1,
    default_limit = 2,
    min_limit = 3,
    max_limit = 4,
    restartable_above = 5,
    gpus = 6,
    gpus_per_node = 7,
    nodes = 8,
    cpus = 9,
    batch_only = 10,
    require_account = 11,
    exclusive = 12,
    cpus_per_gpu = 13,
    mem_per_gpu = 14,
}

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
    cpus_per_gpu = "ESLURM_INVALID_CPU_COUNT",
    routing = "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE", -- as Slurm says of a job that its queue can never take
}

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
