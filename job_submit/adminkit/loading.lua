-- Generated tables from files, when the script is loaded and never later. They are data, and whole.
local need = ...
local data = need("data")
local points = need("points")
local shape = need("shape")

local loading = {}

local ENOENT = 2

-- The table in a file, if it is whole as `check` (of shape.lua) sees it; nil and a reason otherwise, without one where there is
-- no such file.
function loading.file(path, check)
    local file, wrong, number = io.open(path, "rb")
    if not file then
        return nil, number ~= ENOENT and tostring(wrong) or nil
    end
    local source = file:read(data.MOST_BYTES + 1) or ""
    file:close()
    local value
    value, wrong = data.read(source, "=" .. string.match(path, "[^/]*$"))
    if value == nil then
        return nil, path .. ": " .. tostring(wrong or "it returns nothing")
    end
    local ok, complaint = pcall(check, value)
    if not ok or complaint then
        return nil, path .. ": " .. tostring(complaint)
    end
    return value
end

-- NAME.lua, else NAME.good.lua. `say(line)` hears why a file was passed over. nil where neither is whole.
local function first_whole(folder, name, say)
    local value, wrong = loading.file(folder .. name .. ".lua", shape[name])
    if value then
        return value
    end
    if wrong then
        say("adminkit: " .. wrong)
    end
    value, wrong = loading.file(folder .. name .. ".good.lua", shape[name])
    if value then
        say("adminkit: " .. name .. ".good.lua counts instead of " .. name .. ".lua, generation " .. value.generation)
        return value
    end
    if wrong then
        say("adminkit: " .. wrong)
    end
    return nil
end

-- All tables of a folder: policy, incentives, hints; each nil where there is none that is whole.
function loading.all(folder, say)
    local incentives = first_whole(folder, "incentives", say)
    return {
        policy = first_whole(folder, "policy", say),
        incentives = incentives and points.packed(incentives),
        hints = first_whole(folder, "hints", say),
    }
end

return loading
