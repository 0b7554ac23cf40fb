-- What a job earns: the user's points, and those of its class. Never negative, never above the cap, whole.
local points = {}

local floor, max, min = math.floor, math.max, math.min

-- The points of a job of this class and user. 0 without a table.
function points.of(class, uid, incentives)
    if not incentives then
        return 0
    end
    local row = incentives.users and uid and incentives.users[uid]
    local earned = row and row.points or 0
    if class and not (row and row.class == false) then
        earned = earned + (incentives.class_points and incentives.class_points[class] or 0)
    end
    return floor(max(0, min(earned, incentives.cap or earned)))
end

return points
