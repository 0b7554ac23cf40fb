-- The soft limit of a job: how long jobs like it need, for backfill to plan with while the job keeps its limit. Advice, never a
-- rule: whatever is not known to be safe gets none. docs/soft-limits.md has the reason of every condition. Pure.
local need = ...
local decision = need("decision")
local record = need("record")
local text = need("text")

local soft = {}

local LAST_TYPED = "adminkit: --time-min was left out; jobs are planned according to how long similar jobs took."
local LAST_UNKEPT = "adminkit: --time-min was left out: it cannot be used for this job now. The limit is used instead."

local ceil, floor, max = math.ceil, math.floor, math.max
local byte, find, format, gsub, match = string.byte, string.find, string.format, string.gsub, string.match
local NONE = text.NONE

-- A soft limit is in whole minutes, as Slurm keeps time_min.
local function minutes(seconds)
    return ceil(seconds / 60) * 60
end

-- The numbers behind a queue as a pattern, with a capture for this quantile; nil where the table has none of it.
local function columns_of(quantile, quantiles)
    local columns, is_there = {}, false
    for i = 1, #quantiles do
        local is_it = quantiles[i] == quantile
        columns[i], is_there = is_it and "(%d+)" or "%d+", is_there or is_it
    end
    return is_there and "^" .. table.concat(columns, "%-") .. "[_.]" or nil
end

-- A byte of a name that is not a letter or digit, as _ and two hexadecimal digits. There are 194 of them.
local PLAIN = setmetatable({}, {
    __index = function(made, char)
        made[char] = format("_%02x", byte(char))
        return made[char]
    end,
})

local function plain(name)
    return (gsub(name, "[^A-Za-z0-9]", PLAIN))
end

-- What stands before the queues of a name, `.train_-`, and before the numbers of a queue, `_-gq-`.
local names = text.kept(function(name)
    return "." .. plain(name) .. "_-"
end)
local queues = text.kept(function(name)
    return "_-" .. plain(name) .. "-"
end)

-- What stands before the names of a user, `..12-`.
local users = text.kept(function(quotient)
    return format("..%.0f-", quotient)
end)

-- Lua's garbage collector looks at a table in one go, in the middle of a decision: so the texts are in parts.
local PARTS = 16

local function in_parts(rows)
    local parts = { count = #rows }
    for i = 0, #rows - 1 do
        local part = parts[i % PARTS + 1] or {}
        parts[i % PARTS + 1], part[#part + 1] = part, rows[i + 1]
    end
    return parts
end

-- The settings of a policy with the table of needs, its rows as they are: only the few that are asked for are looked at. nil
-- where soft limits are off. `needs` may be nil.
function soft.packed(settings, needs)
    if not settings then
        return nil
    end
    local packed = {}
    for key, value in pairs(settings) do
        packed[key] = value
    end
    packed.columns = needs and columns_of(settings.quantile, needs.quantiles)
    packed.leaves_out = next(settings.users_off) ~= nil or next(settings.accounts_off) ~= nil
        or next(settings.classes_off) ~= nil
    packed.needs = in_parts(packed.columns and needs.rows or NONE)
    return packed
end

local ANY_NAME, ANY_QUEUE = "._2a_-", "_--" -- all jobs of a user; all queues

-- Where the numbers of this name and queue, or of any queue, begin between two places of a text, or nil.
local function numbers_in(rows, name, queue, first, last)
    local _, from = find(rows, name, first, true)
    if not from or from >= last then
        return nil
    end
    local ends = find(rows, ".", from, true)
    local _, at = find(rows, queue, from - 1, true)
    if not at or at >= ends then
        _, at = find(rows, ANY_QUEUE, from - 1, true)
    end
    return at and at < ends and at + 1 or nil
end

-- What jobs of this user, name and queue needed, seconds; nil for unknown, and for a damaged row. The exact queue counts
-- before any, the name before all of the user's jobs. Nothing is put together for it but the number.
local function need_of(packed, uid, name, queue)
    local needs = packed.needs
    if not uid or needs.count == 0 then
        return nil
    end
    local place, quotient = uid % needs.count, floor(uid / needs.count)
    local rows = needs[place % PARTS + 1][floor(place / PARTS) + 1]
    local _, first = find(rows, users[quotient], 1, true)
    if not first then
        return nil
    end
    local last, own = find(rows, "..", first, true) or 0, queues[queue or ""]
    local at = numbers_in(rows, names[name or ""], own, first, last)
    local needed = at and tonumber(match(rows, packed.columns, at))
    if not needed then
        at = numbers_in(rows, ANY_NAME, own, first, last)
        needed = at and tonumber(match(rows, packed.columns, at))
    end
    return needed
end
soft.need = need_of

-- Whether the lease lets a job of this limit into this queue: no maximum of the queue's is passed, and no reservation begins on
-- its nodes before the job would have to end. `margin`: how late the guard may be to see that this has changed.
local function is_clear(queue, limit, now, margin)
    return queue ~= nil
        and (not queue.most or limit <= queue.most)
        and (not queue.reserved_at or now + limit + margin < queue.reserved_at)
end

-- Whether each queue of the job may plan by need, by the policy and by the lease.
local function queues_clear(named, limit, now, packed, lease)
    local margin = lease.valid_until - lease.made_at
    for i = 1, #named do
        local name = named[i]
        if not packed.queues[name] or not is_clear(lease.queues[name], limit, now, margin) then
            return false
        end
    end
    return #named > 0
end

-- Whether the job's account and every QOS it may run with are known and free of limits that do not hold for such jobs.
local function is_unbound(request, lease)
    if lease.users_off[request.uid] then
        return false
    end
    if next(lease.accounts_off) ~= nil then
        local account = request.account
        if not account or lease.accounts_off[account] then
            return false
        end
    end
    if next(lease.qos_off) == nil then
        return true
    end
    local qos = request.qos
    return qos and not text.any_in(lease.qos_off, text.names[qos]) or false
end

-- Whether the site leaves this job out.
local function is_left_out(job, request, packed)
    if request.array and not packed.arrays then
        return true
    end
    if not packed.leaves_out then
        return false
    end
    local account = next(packed.accounts_off) ~= nil and request.account
    return packed.users_off[request.uid] or (request.user and packed.users_off[request.user])
        or (account and packed.accounts_off[account])
        or (next(packed.classes_off) ~= nil and (not job.class or packed.classes_off[job.class]))
        or false
end

-- Whether the job is of a kind that never gets one: one of srun or salloc, whose environment nobody sees, a part of a
-- heterogeneous job, one with a reservation, one that resumes from a checkpoint.
local function is_unfit(request)
    return not request.batch or request.het_offset or request.reservation or request.restartable == true
end

-- The soft limit of a job, seconds; nil for none. `packed` is of soft.packed, `request.lease` the lease as
-- the guard wrote it, `request.now` the time; `job` the job as amended, its queue and class known. `typed`: the user's own
-- --time-min, which counts instead of what is known, however near the limit; nil for none. What asks Slurm for the least comes
-- first.
local function soft_limit(job, request, packed, default, typed)
    local named, limit, gap = job.queues, job.limit, typed and 60 or packed.gap
    if job.kind ~= "finite" or limit ~= request.limit or limit - packed.least < gap then
        return nil -- nobody typed the limit, or a rule changed it
    end
    local lease, now = request.lease, request.now
    if not lease or not now or now >= lease.valid_until or now < lease.made_at - 60 then
        return nil
    end
    local queue = named[1] or default
    local needed = typed or need_of(packed, request.uid, request.job_name, queue)
    local planned = needed and max(minutes(needed), packed.least)
    if not planned or limit - planned < gap
        or not queues_clear(named[1] and named or { queue }, limit, now, packed, lease)
        or is_unfit(request) or is_left_out(job, request, packed) or not is_unbound(request, lease)
        or request.plan_off then
        return nil
    end
    return planned
end

-- The stage of a decision that sets job.typed, the user's own --time-min: none where an earlier decision gave it, by a record
-- that users cannot write. With soft limits on it is taken from the job: Slurm would hold its maxima to it, not to the limit.
function soft.take(outcome, job, request, ruleset)
    local typed = request.time_min or nil
    if ruleset.soft and typed then
        job.time_min, outcome.drops = nil, true
        local there = ruleset.record == "admin_comment" and request.admin_comment and record.read(request.admin_comment)
        if there and there.soft == text.whole(typed) then
            typed = nil
        end
    end
    job.typed = typed
end

-- The stage that sets job.planned, the soft limit of a job that is accepted, where the record can say so.
function soft.plan(_, job, request, ruleset)
    local packed = ruleset.soft
    if packed and ruleset.record == "admin_comment" then
        job.planned = soft_limit(job, request, packed, ruleset.default, packed.typed and job.typed)
    end
end

-- The stage that says that a typed --time-min goes, or leaves it where the job is planned by it.
function soft.settle(outcome, job, _, ruleset)
    local planned, typed = job.planned, job.typed
    if planned then
        outcome.soft = planned
    end
    if not ruleset.soft or not typed then
        return
    end
    local keeps = ruleset.soft.typed
    if planned and keeps then
        outcome.drops = nil
    elseif keeps then
        text.say(decision.list(outcome, "warned"), ruleset.policy, "time_min_off", "amend", {}, nil, LAST_UNKEPT)
    else
        text.say(decision.list(outcome, "warned"), ruleset.policy, "time_min", "amend", {}, nil, LAST_TYPED)
    end
end

-- Whether an update has to take time_min away, while soft limits are on: `limit` and `typed` are the update's time_limit and
-- time_min in minutes, nil where it has none, `has` is the job's own time_min.
--
-- Slurm checks a queue's maximum against time_min where a job has one, so a pending job that changes in any way that a rule
-- looks at loses its own. A running job keeps it whatever is asked, but Slurm refuses a limit below it, unless time_min is
-- taken away in the same update.
function soft.is_dropped(limit, typed, has, is_pending)
    if not has or has <= 0 then
        return typed ~= nil and typed ~= 0
    end
    return is_pending or typed ~= nil or (limit ~= nil and limit < has)
end

return soft
