-- The soft limit of a job: how long jobs like it need, for backfill to plan with while the job keeps its limit. Advice, never a
-- rule: whatever is not known to be safe gets none. docs/soft-limits.md has the reason of every condition. Pure.
local need = ...
local text = need("text")

local soft = {}

local ceil, max, min = math.ceil, math.max, math.min
local byte, find, format, gsub, match = string.byte, string.find, string.format, string.gsub, string.match
local NONE = text.NONE

-- A soft limit is in whole minutes, as Slurm keeps time_min.
local function minutes(seconds)
    return ceil(seconds / 60) * 60
end

-- The columns of a row as a pattern, with a capture for this quantile; nil where the table has none of it.
local function columns_of(quantile, quantiles)
    local columns, is_there = {}, false
    for i = 1, #quantiles do
        local is_it = quantiles[i] == quantile
        columns[i], is_there = is_it and "(%d+)" or "%d+", is_there or is_it
    end
    return is_there and "^" .. table.concat(columns, "%-") .. "%." or nil
end

-- A byte of a name that is no letter or digit, as _ and two hexadecimal digits. There are 194 of them.
local PLAIN = setmetatable({}, {
    __index = function(made, char)
        made[char] = format("_%02x", byte(char))
        return made[char]
    end,
})

local plain = text.kept(function(name)
    return (gsub(name, "[^A-Za-z0-9]", PLAIN))
end)

-- A sum over a plain name, as economy/needs_text.py makes it.
local sums = text.kept(function(name)
    local sum = #name
    for i = 1, min(#name, 64), 4 do
        local a, b, c, d = byte(name, i, i + 3)
        sum = (sum * 31 + a + (b or 0) * 37 + (c or 0) * 1009 + (d or 0) * 7919) % 1048573
    end
    return sum
end)

-- `.1001-` for a uid. There are no more of them than users.
local prefixes = setmetatable({}, {
    __index = function(made, uid)
        made[uid] = format(".%.0f-", uid)
        return made[uid]
    end,
})

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
    packed.needs = packed.columns and needs.rows or NONE
    return packed
end

-- The name that stands for all jobs of a user.
local ANY = "*"

-- The seconds in the row of this user and name for this queue, else for any.
local function row_of(packed, uid, name, queue)
    local needs = packed.needs
    name = plain[name]
    local rows, begins = needs[(uid + sums[name]) % #needs + 1], prefixes[uid] .. name .. "-"
    local first = find(rows, begins, 1, true)
    if not first then
        return nil
    end
    local _, last = find(rows, begins .. plain[queue or ""] .. "-", first, true)
    if not last then
        _, last = find(rows, begins .. "-", first, true)
    end
    return last and tonumber(match(rows, packed.columns, last + 1)) or nil
end

-- What jobs of this user, name and queue needed, seconds; nil for unknown, and for a damaged row. The exact queue counts
-- before any, the name before all of the user's jobs.
function soft.need(packed, uid, name, queue)
    if not uid or #packed.needs == 0 then
        return nil
    end
    return row_of(packed, uid, name or "", queue) or row_of(packed, uid, ANY, queue)
end

local function any_in(set, list)
    for i = 1, #list do
        if set[list[i]] then
            return true
        end
    end
    return false
end

-- Whether the lease lets a job of this limit into this queue: no maximum of the queue's is passed, and no reservation begins on
-- its nodes before the job would have to end. `margin`: how late the guard may be to see that this has changed.
local function is_clear(queue, limit, now, margin)
    return queue ~= nil
        and (not queue.most or limit <= queue.most)
        and (not queue.reserved_at or now + limit + margin < queue.reserved_at)
end

-- Whether each queue of the job may plan by need, by the policy and by the lease.
local function queues_clear(queues, limit, now, packed, lease)
    local margin = lease.valid_until - lease.made_at
    for i = 1, #queues do
        local name = queues[i]
        if not packed.queues[name] or not is_clear(lease.queues[name], limit, now, margin) then
            return false
        end
    end
    return #queues > 0
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
    return qos and not any_in(lease.qos_off, text.names[qos]) or false
end

-- Whether the site leaves this job out.
local function is_left_out(job, request, packed)
    local account = next(packed.accounts_off) ~= nil and request.account
    return packed.users_off[request.uid] or (request.user and packed.users_off[request.user])
        or (account and packed.accounts_off[account])
        or (next(packed.classes_off) ~= nil and (not job.class or packed.classes_off[job.class]))
        or (request.array and not packed.arrays)
        or false
end

-- Whether the job is of a kind that never gets one: one of srun or salloc, whose environment nobody sees, a part of a
-- heterogeneous job, one with a reservation, one that goes on from a checkpoint, one whose limit nobody typed or a rule
-- changed.
local function is_unfit(job, request)
    return not request.batch or request.het_offset or request.reservation or request.restartable == true
        or job.kind ~= "finite" or job.limit ~= request.limit
end

-- The soft limit of a job that is accepted, seconds; nil for none. `packed` is of soft.packed, `request.lease` the lease as
-- the guard wrote it, `request.now` the time; `job` the job as amended, its queue and class known.
function soft.of(job, request, packed, default)
    local queues = job.queues
    local queue = queues[1] or default
    local needed = soft.need(packed, request.uid, request.job_name, queue)
    if not needed then
        return nil
    end
    local lease, limit, now = request.lease, job.limit, request.now
    if not lease or not now or now >= lease.valid_until or now < lease.made_at - 60 then
        return nil
    end
    if is_unfit(job, request) or is_left_out(job, request, packed) or not is_unbound(request, lease) then
        return nil
    end
    local planned = max(minutes(needed), packed.least)
    if limit - planned < packed.gap then
        return nil
    end
    if not queues_clear(queues[1] and queues or { queue }, limit, now, packed, lease) then
        return nil
    end
    if request.plan_off then -- last: it asks for the environment
        return nil
    end
    return planned
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
