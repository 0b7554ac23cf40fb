-- What a job earns: the user's points, and those of its class. Never negative, never above the cap, whole.
local points = {}

local floor, type = math.floor, type

-- The same table with a plain number for each user whose row says nothing else: thousands of small tables are what makes
-- Lua's garbage collector slow. `points.of` reads both.
function points.packed(incentives)
    local users = {}
    for uid, row in pairs(incentives.users) do
        users[uid] = row.class == false and row or row.points
    end
    incentives.users = users
    return incentives
end

-- The points of a job of this class and user. 0 without a table.
function points.of(class, uid, incentives)
    if not incentives then
        return 0
    end
    local row = incentives.users and uid and incentives.users[uid]
    local earned, in_class = row or 0, true
    if type(row) == "table" then
        earned, in_class = row.points or 0, row.class ~= false
    end
    if class and in_class then
        earned = earned + (incentives.class_points and incentives.class_points[class] or 0)
    end
    local cap = incentives.cap
    if cap and earned > cap then
        earned = cap
    end
    if earned % 1 ~= 0 then
        earned = floor(earned)
    end
    return earned > 0 and earned or 0
end

return points
