-- What a job earns: the user's points, and those of its class. Never negative, never above the cap, whole.
local points = {}

local floor = math.floor
local MOST = 2 ^ 30 -- above the offset that Slurm adds, a site factor has 31 bits

-- The same table with plain numbers in `earned` and the users whose class earns nothing in `classless`: thousands of small
-- tables are what makes Lua's garbage collector slow.
function points.packed(incentives)
    local earned, classless = {}, {}
    for uid, row in pairs(incentives.users or {}) do
        earned[uid] = row.points
        if row.class == false then
            classless[uid] = true
        end
    end
    incentives.users, incentives.earned, incentives.classless = nil, earned, classless
    return incentives
end

-- Whether jobs of this class have points of their own.
function points.is_paid(class, incentives)
    local of_class = incentives.class_points
    return class and of_class and of_class[class]
end

-- The points of a job of this class and user, and the class where it has earned some of them. 0 without a table; one that was
-- not packed is. `class` is one that the job surely has.
function points.of(class, uid, incentives)
    if not incentives then
        return 0
    end
    if not incentives.earned then
        points.packed(incentives)
    end
    local sum, of_class = uid and incentives.earned[uid] or 0, incentives.class_points
    local more, paid = class and of_class and of_class[class], nil
    if more and more > 0 and not incentives.classless[uid] then
        sum, paid = sum + more, class
    end
    local cap = incentives.cap or MOST
    if sum > cap then
        sum = cap
    end
    if sum > MOST then
        sum = MOST
    end
    if sum % 1 ~= 0 then
        sum = floor(sum)
    end
    return sum > 0 and sum or 0, paid
end

return points
