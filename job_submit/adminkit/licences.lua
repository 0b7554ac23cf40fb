-- The items of a list of licences: name, name:N or name=N, with commas or semicolons between, or | for alternatives.
local licences = {}

local gmatch, match = string.gmatch, string.match

-- Whether an item, watts:500, is of that name.
function licences.is_of(item, name)
    return match(item, "^([^:=]*)") == name
end

-- The number of a licence in a list, nil where it is not there.
function licences.number(listed, name)
    for item in gmatch(listed or "", "[^,;]+") do
        local number = licences.is_of(item, name) and match(item, "[:=](%d+)$")
        if number then
            return tonumber(number)
        end
    end
    return nil
end

return licences
