-- The kinds of values that a table may hold. Each check returns nil when the value is good, else what is wrong with it.
local checks = {}

local MOST = 2 ^ 53 -- up to here a double holds every whole number

local function of_type(value, wanted, where)
    if type(value) ~= wanted then
        return where .. " is not a " .. wanted
    end
    return nil
end

local function optional(value, wanted, where)
    if value == nil then
        return nil
    end
    return of_type(value, wanted, where)
end

local function amount(value, where)
    if type(value) ~= "number" or value ~= value or value < 0 then
        return where .. " is not a number of 0 or more"
    end
    if value > MOST then
        return where .. " is above " .. MOST
    end
    return nil
end

local function optional_amount(value, where)
    if value == nil then
        return nil
    end
    return amount(value, where)
end

-- The first complaint of `check(key, value)` about a table's entries.
local function every(value, where, check)
    local wrong = of_type(value, "table", where)
    if wrong then
        return wrong
    end
    for key, entry in pairs(value) do
        wrong = check(key, entry)
        if wrong then
            return where .. ": " .. wrong
        end
    end
    return nil
end

local function set(value, where)
    if value == nil then
        return nil
    end
    return every(value, where, function(key, entry)
        if entry ~= true or (type(key) ~= "string" and type(key) ~= "number") then
            return "an entry is not true"
        end
        return nil
    end)
end

local function list(value, wanted, where)
    local count = 0
    local wrong = every(value, where, function(key, entry)
        count = count + 1
        if type(key) ~= "number" then
            return where .. " is not a list"
        end
        return of_type(entry, wanted, "an entry")
    end)
    if not wrong and count ~= #value then
        return where .. " has gaps"
    end
    return wrong
end

local function words(value, where)
    if value == nil then
        return nil
    end
    return every(value, where, function(key, entry)
        return of_type(key, "string", "a key") or of_type(entry, "string", "a text")
    end)
end

checks.of_type = of_type
checks.optional = optional
checks.amount = amount
checks.optional_amount = optional_amount
checks.set = set
checks.words = words
checks.every = every
checks.list = list

return checks
