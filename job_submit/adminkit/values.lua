-- The placeholders of the texts about rules.
local need = ...
local rules = need("rules")
local text = need("text")

local values = {}

local function range_text(range)
    if range.min and range.max then
        if range.min == range.max then
            return text.whole(range.min)
        end
        return text.whole(range.min) .. "-" .. text.whole(range.max)
    end
    if range.min then
        return text.whole(range.min) .. "+"
    end
    return "0-" .. text.whole(range.max or 0)
end

-- The placeholders of a rule's text, each worked out when a text asks for it.
local value_of = {}

function value_of.rule(this)
    return text.word(this._rule.name)
end

function value_of.check(this)
    return this._rule.check
end

function value_of.queue(this)
    return this._queue and text.word(this._queue) or "-"
end

function value_of.class(this)
    return this._class or "-"
end

function value_of.limit(this)
    return text.duration(this._limit)
end

function value_of.time_min(this)
    return text.duration(this._time_min)
end

function value_of.default(this)
    local facts = this._facts
    return text.duration(facts and (facts.default_limit or facts.max_limit) or nil)
end

function value_of.from(this)
    local rule = this._rule
    return rule.from_day or (rule.from and text.day(rule.from)) or "-"
end

function value_of.asked(this)
    local rule = this._rule
    if rules.COUNTS[rule.check] then
        return text.whole(this._broken)
    end
    if rule.check == "require_limit" or rule.check == "default_limit" then
        return "-"
    end
    return text.duration(this._broken)
end

local function bound(this, least, most)
    local value = this._rule.value
    if type(value) == "table" then
        return least and (value.min and text.whole(value.min) or "0")
            or most and (value.max and text.whole(value.max) or "-")
            or range_text(value)
    end
    return text.duration(type(value) == "number" and value or nil)
end

function value_of.value(this)
    return bound(this)
end

function value_of.min(this)
    return bound(this, true)
end

function value_of.max(this)
    return bound(this, false, true)
end

local VALUES = {
    __index = function(this, name)
        local make = value_of[name]
        return make and make(this)
    end,
}

local current = setmetatable({}, VALUES)

-- The values of a broken rule, for text.fill: those of the job after it was amended, and `broken`, the number that broke it.
-- There is one table for all rules, as each is said at once; it lasts until the next call.
function values.of(rule, job, queue, facts, broken)
    local this = current
    this._rule = rule
    this._queue = queue
    this._facts = facts
    this._broken = broken
    this._class = job.class
    this._limit = rules.effective(job, facts)
    this._time_min = job.time_min
    this.message = nil
    return this
end

return values
