-- sextant/planner.lua's breaker under a clock and a socket of the test's.

local check = dofile(arg[1] .. "/tests/slurm/lua/check.lua")

local now, connect = 1000, nil
package.loaded["socket"] = {
  gettime = function() return now end,
  tcp = function()
    return { settimeout = function() end, close = function() end, connect = function() return connect() end }
  end,
}
package.loaded["cjson.safe"] = { encode = function() return "{}" end }
local planner = require "sextant.planner"
local SITE = { address = "127.0.0.1:1", deadline_ms = 300, breaker_s = 30 }

local asked
local function kind_of(answer, site)
  asked, connect = false, function()
    asked = true
    return answer()
  end
  return (select(3, planner.admit(site or SITE, {})))
end
local function refused() return nil, "connection refused" end

check.equal("away", { kind_of(refused), asked }, { "away", true })
check.equal("open", { kind_of(refused), asked }, { "open", false })
check.equal("another planner", kind_of(refused, { address = "127.0.0.1:2", deadline_ms = 300, breaker_s = 30 }),
            "away")
now = now + 29
check.equal("still open", kind_of(refused), "open")
now = now + 1
-- While one asks, nobody else does.
local nested
check.equal("half-open", kind_of(function()
  nested = select(3, planner.admit(SITE, {}))
  return refused()
end), "away")
check.equal("half-open, another", nested, "open")
now = now + 31
check.equal("an error", kind_of(function() error("bad") end), "odd")
check.equal("an error is no silence", kind_of(refused), "away")
-- A clock that was set back does not keep it open.
now = now - 3600
check.equal("set back", { kind_of(refused), asked }, { "away", true })
check.equal("set back, open", kind_of(refused), "open")
now = now + 31
check.equal("set back while it waits", kind_of(function()
  now = now - 10
  return 1
end), "late")

check.ends()
