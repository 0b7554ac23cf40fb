-- What every rule means. A check measures a job, which gives two numbers, and compares them with the value of each rule: nil
-- (the rule holds), UNTOLD (the request does not show what the rule looks at), or the number that breaks the rule. Nothing is
-- changed here but by an amendment, which changes the job.
--
-- `job` is of allocation.job_of, `request` the rest of what was asked for, `facts` what the policy knows of the queue, or nil.
local need = ...
local counts = need("counts")
local demands = need("demands")
local ratios = need("ratios")

local rules = {}

local UNTOLD = "untold"
rules.UNTOLD = UNTOLD
rules.is_count, rules.cap, rules.distance, rules.is_loose = counts.is_count, counts.cap, counts.distance, counts.is_loose
rules.is_asked, rules.asked = counts.is_asked, counts.asked

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

local in_range = counts.comparison(UNTOLD)
for name, of_job in pairs(counts.measure) do
    measure[name], compare[name] = of_job, in_range
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

-- Whether the most of a job that this check looks at may be unknown, which has a text of its own.
function rules.may_be_unsure(name)
    return rules.is_count(name) or name == "cpus_per_gpu"
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

-- Whether this check looks at time limits.
function rules.is_limit(name)
    return amend[name] ~= nil
end

-- The order in which checks are looked at, whatever the order of the rules in the file.
rules.ORDER = {
    require_limit = 1,
    default_limit = 2,
    min_limit = 3,
    max_limit = 4,
    restartable_above = 5,
    gpus = 6,
    gpus_per_node = 7,
    gpu_slices = 8,
    nodes = 9,
    cpus = 10,
    batch_only = 11,
    require_account = 12,
    exclusive = 13,
    cpus_per_gpu = 14,
    mem_per_gpu = 15,
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
    gpu_slices = "ESLURM_INVALID_GRES",
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
