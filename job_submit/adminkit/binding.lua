-- Where a job breaks two bounds of one kind, its user reads the one that binds: the lowest maximum, the highest minimum. Who
-- keeps it keeps the other.
local binding = {}

-- The bound of a rule that `number` broke; nil for a rule without one.
function binding.bound(rule, number)
    local value, is_most = rule.value, rule.check ~= "min_limit"
    if type(value) == "table" then
        is_most = value.max ~= nil and number > value.max
        value = is_most and value.max or value.min
    elseif type(value) ~= "number" or rule.check == "default_limit" then
        return nil
    end
    return { check = rule.check, value = value, is_most = is_most, lines = nil, first = nil, count = nil }
end

-- Whether a job that keeps one of these keeps the other. A maximum counts for jobs that can resume from a checkpoint, too.
local function covers(one, other)
    if one.is_most ~= other.is_most
        or (one.check ~= other.check and not (one.check == "max_limit" and other.check == "restartable_above")) then
        return false
    elseif one.is_most then
        return one.value <= other.value
    end
    return one.value >= other.value
end

-- Takes what was said of a bound out of its list.
local function take_back(said, at)
    local old = table.remove(said, at)
    for _ = 1, old.count do
        table.remove(old.lines, old.first)
    end
    for i = 1, #said do
        if said[i].lines == old.lines and said[i].first > old.first then
            said[i].first = said[i].first - old.count
        end
    end
end

-- Whether `count` lines of a bound are to be added to `lines`, one of the outcome's lists: not where a tighter bound stands
-- there; looser ones go.
function binding.takes(outcome, lines, bound, count)
    local said = outcome.bounds or {}
    for i = #said, 1, -1 do
        if said[i].lines == lines and covers(said[i], bound) then
            return false
        end
    end
    for i = #said, 1, -1 do
        if said[i].lines == lines and covers(bound, said[i]) then
            take_back(said, i)
        end
    end
    bound.lines, bound.first, bound.count = lines, #lines + 1, count
    said[#said + 1] = bound
    outcome.bounds = said
    return true
end

return binding
