-- Asks a planner, and prints a line for each answer: milliseconds, kind, and what was said.
--   lua ask.lua ROOT ADDRESS DEADLINE_MS BREAKER_S [PAUSE_S | WORDS]...
-- A number waits for that long; a text is asked about, with the bytes of "\255" for "%FF".

local socket = require "socket"
package.path = arg[1] .. "/deploy/slurm/?.lua;" .. package.path
local planner = require "sextant.planner"
local settings = { address = arg[2], deadline_ms = tonumber(arg[3]), breaker_s = tonumber(arg[4]) }
for index = 5, #arg do
  if tonumber(arg[index]) then
    socket.sleep(tonumber(arg[index]))
  else
    local text = arg[index]:gsub("%%(%x%x)", function(byte) return string.char(tonumber(byte, 16)) end)
    local request = planner.request(settings, text, { count = 16, accelerator = "h100-sxm" },
                                    { name = text, user = ("u"):rep(300) })
    local began = socket.gettime()
    local answer, why, kind = planner.admit(settings, request)
    local said = why
    if answer then
      kind, said = answer.verdict or "refusal", answer.refusal or answer.message .. "|" .. answer.change
      local names = {}
      for name, value in pairs(answer.layout or {}) do names[#names + 1] = name .. "=" .. value end
      table.sort(names)
      said = said .. "|" .. table.concat(names, " ") .. "|" .. tostring(answer.time_limit_s)
    end
    print(string.format("%.0f\t%s\t%s", 1000 * (socket.gettime() - began), kind, said))
  end
end
