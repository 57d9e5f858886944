-- Asks as sextant.planner does, by the program `sextant`: for sextant-sbatch where Lua has no socket. It
-- starts a program, so no hook uses it.

local program = {}

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- The text of a field of the answer, which is printable ASCII.
local function text_of(answer, name)
  local text = answer:match('"' .. name .. '": ?"(.-[^\\])"')
  return text and text:gsub("\\u00(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
                      :gsub("\\(.)", "%1")
end

-- As planner.admit. The address is the program's: SEXTANT_ADDRESS, or the usual one.
function program.admit(settings, request)
  local seconds = settings.deadline_ms / 1000
  local command = { string.format("sextant admit --output=json --timeout=%.3f", seconds + 0.2),
                    string.format("--budget=%.3fs --scheduler=other", seconds),
                    string.format("--devices=%d", request.deviceCount) }
  for flag, value in pairs({ ["--accelerator="] = request.accelerator,
                             ["--node-type="] = request.nodeType }) do
    command[#command + 1] = flag .. quoted(value)
  end
  command[#command + 1] = "-- " .. quoted(request.words) .. " 2>&1; echo \"exit $?\""
  local pipe = io.popen(table.concat(command, " "))
  local output = pipe and pipe:read(65536) or ""
  if pipe then pipe:close() end
  local answer, code = output:match("^(.-)exit (%d+)\n$")
  if code == "3" then return { refusal = text_of(answer, "message") } end
  local verdict = answer and text_of(answer, "verdict")
  if not verdict then
    local why = (answer or output):match("^[^\n]*")
    return nil, why ~= "" and why or "the program sextant gave no answer", "away"
  end
  local layout = {}
  local block = answer:match('"layout": (%b{})') or ""
  for name, value in block:gmatch('"([^"]+)": "([^"]*)"') do layout[name] = value end
  return { verdict = verdict:gsub("^VERDICT_", ""), message = text_of(answer, "message"),
           change = text_of(answer, "change"), layout = layout,
           time_limit_s = tonumber((text_of(answer, "timeLimit") or ""):match("^([%d.]+)s$")) }
end

return program
